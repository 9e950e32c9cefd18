-- What is kept beside the log. What is secret is sealed before it comes here.

CREATE TABLE credential (
    credential_id INTEGER PRIMARY KEY,
    -- find_credential_by_name.sql, sealed_credentials.sql
    name          TEXT    NOT NULL UNIQUE,
    type          TEXT    NOT NULL,
    -- Name and description in lower case, for searching.
    search_folded TEXT    NOT NULL,
    meta          TEXT,
    tags          TEXT    NOT NULL,
    description   TEXT,
    key_version   TEXT    NOT NULL,
    wrapped_key   BLOB    NOT NULL,
    data_encrypted BLOB   NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE keychain (
    -- find_keychain_entry.sql, sealed_keychain_entries.sql
    cache_key      TEXT    PRIMARY KEY,
    keychain_name  TEXT    NOT NULL,
    catalog_id     INTEGER NOT NULL,
    scope_type     TEXT    NOT NULL,
    execution_id   INTEGER,
    key_version    TEXT    NOT NULL,
    wrapped_key    BLOB    NOT NULL,
    data_encrypted BLOB    NOT NULL,
    expires_at     INTEGER NOT NULL,
    auto_renew     INTEGER NOT NULL CHECK (auto_renew IN (0, 1)),
    renew_config   TEXT,
    access_count   INTEGER NOT NULL CHECK (access_count >= 0),
    accessed_at    INTEGER,
    created_at     INTEGER NOT NULL
) STRICT;

-- list_keychain_entries.sql
CREATE INDEX keychain_catalog ON keychain (catalog_id, cache_key);

-- collect_keychain.sql
CREATE INDEX keychain_expires ON keychain (expires_at);

-- Who asked for which secret.
CREATE TABLE secret_audit (
    audit_id            INTEGER PRIMARY KEY,
    occurred_at         INTEGER NOT NULL,
    credential          TEXT    NOT NULL,
    operation           TEXT    NOT NULL,
    outcome             TEXT    NOT NULL,
    worker_id           TEXT,
    execution_id        INTEGER,
    parent_execution_id INTEGER,
    kek_version         TEXT,
    notes               TEXT
) STRICT;

-- collect_accesses.sql
CREATE INDEX secret_audit_occurred ON secret_audit (occurred_at);

-- Variables that other programs keep with an execution.
CREATE TABLE transient (
    execution_id INTEGER NOT NULL,
    var_name     TEXT    NOT NULL,
    var_type     TEXT    NOT NULL
        CHECK (var_type IN ('user_defined', 'step_result', 'computed', 'iterator_state')),
    var_value    TEXT    NOT NULL,
    source_step  TEXT,
    created_at   INTEGER NOT NULL,
    accessed_at  INTEGER,
    access_count INTEGER NOT NULL CHECK (access_count >= 0),
    PRIMARY KEY (execution_id, var_name)
) STRICT, WITHOUT ROWID;

-- Workers and servers that have said that they are there.
CREATE TABLE runtime (
    runtime_id   INTEGER PRIMARY KEY,
    kind         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    uri          TEXT,
    status       TEXT    NOT NULL,
    labels       TEXT,
    capabilities TEXT,
    capacity     INTEGER,
    runtime      TEXT,
    heartbeat    INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    -- find_runtime.sql, heard_runtime.sql, list_runtimes.sql
    UNIQUE (kind, name)
) STRICT;

-- collect_runtimes.sql
CREATE INDEX runtime_heartbeat ON runtime (heartbeat);

-- Names of large values; the values are payloads.
CREATE TABLE result_ref (
    execution_id INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    result_id    INTEGER NOT NULL,
    sha256       BLOB    NOT NULL CHECK (length(sha256) = 32),
    scope        TEXT    NOT NULL,
    source_step  TEXT,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    -- find_result.sql
    PRIMARY KEY (execution_id, name, result_id),
    -- put_result.sql
    UNIQUE (execution_id, name, sha256)
) STRICT, WITHOUT ROWID;

-- collect_results.sql
CREATE INDEX result_ref_expires ON result_ref (expires_at) WHERE expires_at IS NOT NULL;

-- Files and plugins.
CREATE TABLE object_store (
    object_key TEXT    PRIMARY KEY,
    media_type TEXT    NOT NULL,
    sha256     BLOB    NOT NULL CHECK (length(sha256) = 32),
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    -- Last, so that the rest is read without it.
    body       BLOB    NOT NULL
) STRICT;

-- collect_objects.sql
CREATE INDEX object_store_expires ON object_store (expires_at) WHERE expires_at IS NOT NULL;
