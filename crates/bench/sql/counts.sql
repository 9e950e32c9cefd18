-- Reads the work that the server has done for this database so far. Only writing transactions take
-- a transaction id.
SELECT
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS transactions,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS bytes,
    (
        SELECT coalesce(sum(calls), 0)::bigint
        FROM pg_stat_statements
        JOIN pg_database ON pg_database.oid = dbid
        WHERE datname = current_database() AND toplevel
    ) AS statements
