-- What is kept beside the log. What is secret is sealed before it comes here. Credentials, the
-- keychain, the audit, runtimes and objects are in the cluster's database, the rest is with its
-- execution.

CREATE TABLE noetl.credential (
    credential_id  bigint           PRIMARY KEY,
    -- find_credential_by_name.sql, sealed_credentials.sql
    name           text COLLATE "C" NOT NULL UNIQUE,
    type           text             NOT NULL,
    -- Name and description in lower case, for searching.
    search_folded  text             NOT NULL,
    meta           json,
    tags           text[]           NOT NULL,
    description    text,
    key_version    text             NOT NULL,
    wrapped_key    bytea            NOT NULL,
    data_encrypted bytea            NOT NULL,
    created_at     timestamptz      NOT NULL,
    updated_at     timestamptz      NOT NULL
);

CREATE TABLE noetl.keychain (
    -- find_keychain_entry.sql, sealed_keychain_entries.sql
    cache_key      text COLLATE "C" PRIMARY KEY,
    keychain_name  text             NOT NULL,
    catalog_id     bigint           NOT NULL,
    scope_type     text             NOT NULL,
    execution_id   bigint,
    key_version    text             NOT NULL,
    wrapped_key    bytea            NOT NULL,
    data_encrypted bytea            NOT NULL,
    expires_at     timestamptz      NOT NULL,
    auto_renew     boolean          NOT NULL,
    renew_config   json,
    access_count   bigint           NOT NULL CHECK (access_count >= 0),
    accessed_at    timestamptz,
    created_at     timestamptz      NOT NULL
);

-- list_keychain_entries.sql
CREATE INDEX keychain_catalog ON noetl.keychain (catalog_id, cache_key);

-- collect_keychain.sql
CREATE INDEX keychain_expires ON noetl.keychain (expires_at);

-- Who asked for which secret.
CREATE TABLE noetl.secret_audit (
    audit_id            bigint      PRIMARY KEY,
    occurred_at         timestamptz NOT NULL,
    credential          text        NOT NULL,
    operation           text        NOT NULL,
    outcome             text        NOT NULL,
    worker_id           text,
    execution_id        bigint,
    parent_execution_id bigint,
    kek_version         text,
    notes               text
);

-- collect_accesses.sql
CREATE INDEX secret_audit_occurred ON noetl.secret_audit (occurred_at);

-- Workers and servers that have said that they are there. Heartbeats stay within the page.
CREATE TABLE noetl.runtime (
    runtime_id   bigint           PRIMARY KEY,
    kind         text COLLATE "C" NOT NULL,
    name         text COLLATE "C" NOT NULL,
    uri          text,
    status       text             NOT NULL,
    labels       json,
    capabilities json,
    capacity     bigint,
    runtime      json,
    heartbeat    timestamptz      NOT NULL,
    created_at   timestamptz      NOT NULL,
    updated_at   timestamptz      NOT NULL,
    -- find_runtime.sql, heard_runtime.sql, list_runtimes.sql
    UNIQUE (kind, name)
) WITH (fillfactor = 60);

-- Files and plugins.
CREATE TABLE noetl.object_store (
    object_key text COLLATE "C" PRIMARY KEY,
    media_type text             NOT NULL,
    sha256     bytea            NOT NULL CHECK (length(sha256) = 32),
    body       bytea            NOT NULL,
    updated_at timestamptz      NOT NULL,
    expires_at timestamptz
);

-- collect_objects.sql
CREATE INDEX object_store_expires ON noetl.object_store (expires_at)
    WHERE expires_at IS NOT NULL;

-- Variables that other programs keep with an execution.
CREATE TABLE noetl.transient (
    execution_id bigint           NOT NULL,
    var_name     text COLLATE "C" NOT NULL,
    var_type     text             NOT NULL
        CHECK (var_type IN ('user_defined', 'step_result', 'computed', 'iterator_state')),
    var_value    json             NOT NULL,
    source_step  text,
    created_at   timestamptz      NOT NULL,
    accessed_at  timestamptz,
    access_count bigint           NOT NULL CHECK (access_count >= 0),
    PRIMARY KEY (execution_id, var_name)
) PARTITION BY RANGE (execution_id);

-- Names of large values; the values are in noetl.result_store.
CREATE TABLE noetl.result_ref (
    execution_id bigint           NOT NULL,
    name         text COLLATE "C" NOT NULL,
    result_id    bigint           NOT NULL,
    sha256       bytea            NOT NULL CHECK (length(sha256) = 32),
    scope        text             NOT NULL,
    source_step  text,
    created_at   timestamptz      NOT NULL,
    expires_at   timestamptz,
    -- find_result.sql
    PRIMARY KEY (execution_id, name, result_id),
    -- put_result.sql
    UNIQUE (execution_id, name, sha256)
) PARTITION BY RANGE (execution_id);

-- collect_results.sql
CREATE INDEX result_ref_expires ON noetl.result_ref (expires_at) WHERE expires_at IS NOT NULL;

INSERT INTO noetl.partitioned (table_name, key_column, page_fill, by_start) VALUES
    ('transient', 'execution_id', 80, true),
    ('result_ref', 'execution_id', 100, true);

-- Every month that executions are kept for has a partition, so that all of it leaves together.
DO $$
DECLARE
    name text;
    month text;
    start timestamp;
BEGIN
    FOREACH name IN ARRAY ARRAY['transient', 'result_ref'] LOOP
        EXECUTE format('CREATE TABLE noetl.%I PARTITION OF noetl.%I DEFAULT', name || '_default', name);
        FOR month IN SELECT noetl.months_of('execution') LOOP
            start := to_date(month, 'YYYY_MM');
            EXECUTE format(
                'CREATE TABLE noetl.%I PARTITION OF noetl.%I FOR VALUES FROM (%s) TO (%s)',
                name || '_' || month, name,
                noetl.snowflake_at(start AT TIME ZONE 'UTC'),
                noetl.snowflake_at((start + interval '1 month') AT TIME ZONE 'UTC')
            );
        END LOOP;
    END LOOP;
END
$$;
