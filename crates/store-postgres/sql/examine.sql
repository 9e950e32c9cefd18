-- Reads the server's state: read-only replica, durable commits, version and time.
SELECT
    pg_is_in_recovery() AS in_recovery,
    current_setting('synchronous_commit') = 'off' AS forgets,
    current_setting('server_version_num')::bigint AS version,
    clock_timestamp() AS now
