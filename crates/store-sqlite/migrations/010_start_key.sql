-- Names under which executions are started once, for as long as they are kept.
CREATE TABLE start_key (
    scope        TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    execution_id INTEGER NOT NULL,
    -- The SHA-256 of what was asked for, where that was said.
    request      BLOB CHECK (length(request) = 32),
    kept_until   INTEGER NOT NULL,
    -- find_start_keys.sql; refuses a second start under one key.
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;

-- remove_start_keys.sql
CREATE INDEX start_key_expiry ON start_key (kept_until);
