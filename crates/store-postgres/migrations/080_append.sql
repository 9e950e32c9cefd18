-- What a batch was planned on is no longer so: a serialization failure, like those of the database.
CREATE FUNCTION noetl.refuse_overtaken() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'another writer got in between' USING ERRCODE = 'serialization_failure';
END
$$;
