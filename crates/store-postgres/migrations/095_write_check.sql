-- A table that is filled anew whenever it is asked whether the disk has room.
CREATE TABLE noetl.write_check (
    body bytea NOT NULL
);

ALTER TABLE noetl.write_check ALTER COLUMN body SET STORAGE EXTERNAL;

-- Writes so many bytes to new files, so that the space they take is asked for. While somebody else reads
-- the table or checks as well, they go to the end of the files that are there.
CREATE FUNCTION noetl.check_writable(length integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        LOCK TABLE noetl.write_check IN ACCESS EXCLUSIVE MODE NOWAIT;
        TRUNCATE noetl.write_check;
    EXCEPTION WHEN lock_not_available THEN
        NULL;
    END;
    INSERT INTO noetl.write_check (body) VALUES (convert_to(repeat('.', length), 'UTF8'));
END
$$;
