-- Whether this server can be written to, whether what it answers is durable, and what time it is.
SELECT
    pg_is_in_recovery() AS in_recovery,
    current_setting('synchronous_commit') = 'off' AS forgets,
    current_setting('server_version_num')::bigint AS version,
    clock_timestamp() AS now
