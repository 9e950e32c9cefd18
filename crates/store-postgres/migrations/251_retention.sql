-- Deletion of ended executions: tombstones, marks that protect from deletion, and references to large
-- payloads.

-- What remains of a deleted execution.
CREATE TABLE noetl.tombstone (
    -- find_tombstone.sql
    execution_id bigint      PRIMARY KEY,
    deleted_at   timestamptz NOT NULL,
    -- True while other rows of the execution are left.
    is_pending   boolean     NOT NULL,
    body         json        NOT NULL
);

-- list_erasures.sql, list_erased_references.sql
CREATE INDEX tombstone_pending ON noetl.tombstone (execution_id) WHERE is_pending;

CREATE TABLE noetl.keep_mark (
    -- find_keep_mark.sql, find_erasable.sql
    execution_id bigint PRIMARY KEY,
    body         json   NOT NULL
);

-- The large payloads that the events of an execution refer to.
CREATE TABLE noetl.payload_reference (
    execution_id bigint NOT NULL,
    sha256       bytea  NOT NULL CHECK (length(sha256) = 32),
    -- list_erased_references.sql, erase_references.sql, functions/append.sql
    PRIMARY KEY (execution_id, sha256)
) PARTITION BY RANGE (execution_id);

-- find_referred_payloads.sql, collect_payloads.sql
CREATE INDEX payload_reference_sha256 ON noetl.payload_reference (sha256);

INSERT INTO noetl.partitioned (table_name, key_column, page_fill, by_start) VALUES
    ('payload_reference', 'execution_id', 100, true);

DO $$
DECLARE
    month text;
    start timestamp;
BEGIN
    CREATE TABLE noetl.payload_reference_default PARTITION OF noetl.payload_reference DEFAULT;
    FOR month IN SELECT noetl.months_of('execution') LOOP
        start := to_date(month, 'YYYY_MM');
        EXECUTE format(
            'CREATE TABLE noetl.%I PARTITION OF noetl.payload_reference FOR VALUES FROM (%s) TO (%s)',
            'payload_reference_' || month,
            noetl.snowflake_at(start AT TIME ZONE 'UTC'),
            noetl.snowflake_at((start + interval '1 month') AT TIME ZONE 'UTC')
        );
    END LOOP;
END
$$;

-- The last execution whose references may be incomplete: those that started before this migration,
-- and for a day those of servers of the version before. Zero in a database without executions.
CREATE TABLE noetl.reference_start (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    execution_id bigint  NOT NULL
);

INSERT INTO noetl.reference_start (execution_id)
SELECT CASE
    WHEN EXISTS (SELECT FROM noetl.execution) THEN noetl.snowflake_at(now() + interval '1 day')
    ELSE 0
END;

-- find_keep_reason.sql
CREATE INDEX execution_fork ON noetl.execution (fork_execution_id)
    WHERE fork_execution_id IS NOT NULL;

-- erase_index.sql
CREATE INDEX execution_index_execution ON noetl.execution_index (execution_id);

-- Drops the oldest month that ends at `before` or earlier and has neither an execution nor a large
-- payload; returns it, or NULL if there is none. Rows of deleted executions leave with the month. The
-- caller sets the lock timeout: whoever comes after a waiting change of a table waits too.
CREATE FUNCTION noetl.drop_month(before timestamptz) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    month text;
    name text;
    is_used boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('noetl.partitions', 0));
    FOR month IN SELECT noetl.months_of('execution') LOOP
        EXIT WHEN to_date(month, 'YYYY_MM') + interval '1 month' > before AT TIME ZONE 'UTC';
        is_used := false;
        FOREACH name IN ARRAY ARRAY['execution', 'result_store', 'payload_reference'] LOOP
            EXECUTE format('SELECT $1 OR EXISTS (SELECT FROM noetl.%I)', name || '_' || month)
                INTO is_used USING is_used;
        END LOOP;
        CONTINUE WHEN is_used;
        -- Nothing starts in a month that has ended, unless a clock is wrong.
        EXECUTE format('LOCK TABLE noetl.%I IN ACCESS EXCLUSIVE MODE', 'execution_' || month);
        EXECUTE format('SELECT EXISTS (SELECT FROM noetl.%I)', 'execution_' || month) INTO is_used;
        CONTINUE WHEN is_used;
        FOR name IN SELECT table_name FROM noetl.partitioned WHERE by_start ORDER BY table_name LOOP
            EXECUTE format('DROP TABLE noetl.%I', name || '_' || month);
        END LOOP;
        -- The id of an event is younger than its execution: what is older than every execution is
        -- gone.
        FOR name IN
            SELECT table_name || '_' || months_of
            FROM noetl.partitioned CROSS JOIN LATERAL noetl.months_of(table_name)
            WHERE
                NOT by_start
                AND months_of < (SELECT min(kept) FROM noetl.months_of('execution') AS kept)
        LOOP
            EXECUTE format('DROP TABLE noetl.%I', name);
        END LOOP;
        RETURN month;
    END LOOP;
    RETURN NULL;
END
$$;

-- For servers of the version before, which call it: drops only what nothing refers to, and gives up
-- soon.
CREATE OR REPLACE FUNCTION noetl.drop_partitions(before timestamptz) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    month text;
BEGIN
    PERFORM set_config('lock_timeout', '100ms', true);
    LOOP
        month := noetl.drop_month(before);
        EXIT WHEN month IS NULL;
        RETURN NEXT month;
    END LOOP;
END
$$;
