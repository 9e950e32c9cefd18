-- Takes or keeps a turn for $3 microseconds from now ($4, or this server's own), unless it is another's.
INSERT INTO noetl.turn (name, holder, until)
VALUES ($1, $2, coalesce($4, statement_timestamp()) + $3::bigint * interval '1 microsecond')
ON CONFLICT (name) DO UPDATE SET
    holder = excluded.holder,
    until = excluded.until
WHERE turn.holder = excluded.holder OR turn.until <= coalesce($4, statement_timestamp())
