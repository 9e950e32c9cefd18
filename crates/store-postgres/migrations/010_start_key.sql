-- Names under which executions are started once, for as long as they are kept. A key lives in the
-- shard that its name hashes to, and so does the execution that is started under it.
CREATE TABLE noetl.start_key (
    scope        text        NOT NULL,
    name         text        NOT NULL,
    execution_id bigint      NOT NULL,
    -- The SHA-256 of what was asked for, where that was said.
    request      bytea       CHECK (length(request) = 32),
    kept_until   timestamptz NOT NULL,
    -- find_start_keys.sql, put_start_keys.sql; refuses a second start under one key.
    PRIMARY KEY (scope, name)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- remove_start_keys.sql
CREATE INDEX start_key_expiry ON noetl.start_key (kept_until);
