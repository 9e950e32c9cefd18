-- Acquires or extends a named lock for $3 microseconds from now ($4, or the database clock), unless another
-- holder has it.
INSERT INTO noetl.turn (name, holder, until)
VALUES ($1, $2, coalesce($4, statement_timestamp()) + $3::bigint * interval '1 microsecond')
ON CONFLICT (name) DO UPDATE SET
    holder = excluded.holder,
    until = excluded.until
WHERE turn.holder = excluded.holder OR turn.until <= coalesce($4, statement_timestamp())
