-- The output that tools print while they run, beside the event log. Like the log, it is partitioned
-- by the month in which its execution started, so that all of it leaves together.

-- One row for each execution with output: its lock, its last position and its size.
CREATE TABLE noetl.log_total (
    -- lock_log_totals.sql
    execution_id bigint      PRIMARY KEY,
    position     bigint      NOT NULL CHECK (position >= 0),
    bytes        bigint      NOT NULL CHECK (bytes >= 0),
    last_at      timestamptz NOT NULL
) PARTITION BY RANGE (execution_id);

-- forget_log_totals.sql
CREATE INDEX log_total_last ON noetl.log_total (last_at);

-- The attempts that have printed something, with the names that people know them by.
CREATE TABLE noetl.log_source (
    execution_id bigint           NOT NULL,
    command_id   bigint           NOT NULL,
    attempt      bigint           NOT NULL,
    step_name    text COLLATE "C" NOT NULL,
    label        text             NOT NULL,
    item         bigint,
    -- The number of the attempt among all attempts of its task.
    number       bigint           NOT NULL,
    -- The index of the next chunk: earlier ones are stored.
    chunks       bigint           NOT NULL CHECK (chunks >= 0),
    bytes        bigint           NOT NULL CHECK (bytes >= 0),
    -- find_log_progress.sql, find_log_sources.sql, read_logs.sql
    PRIMARY KEY (execution_id, command_id, attempt)
) PARTITION BY RANGE (execution_id);

CREATE TABLE noetl.log_chunk (
    execution_id  bigint      NOT NULL,
    position      bigint      NOT NULL CHECK (position > 0),
    command_id    bigint      NOT NULL,
    attempt       bigint      NOT NULL,
    stream        text        NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    printed_at    timestamptz NOT NULL,
    omitted_lines bigint      NOT NULL,
    omitted_bytes bigint      NOT NULL,
    -- 1 if the command had ended or was leased again when the chunk arrived.
    is_late       bigint      NOT NULL CHECK (is_late IN (0, 1)),
    body          text        NOT NULL,
    -- read_logs.sql, read_logs_back.sql
    PRIMARY KEY (execution_id, position)
) PARTITION BY RANGE (execution_id);

INSERT INTO noetl.partitioned (table_name, key_column, page_fill, by_start) VALUES
    ('log_total', 'execution_id', 60, true),
    ('log_source', 'execution_id', 60, true),
    ('log_chunk', 'execution_id', 100, true);

-- Every month that executions are kept for has a partition.
DO $$
DECLARE
    name text;
    month text;
    start timestamp;
BEGIN
    FOREACH name IN ARRAY ARRAY['log_total', 'log_source', 'log_chunk'] LOOP
        EXECUTE format('CREATE TABLE noetl.%I PARTITION OF noetl.%I DEFAULT', name || '_default', name);
        FOR month IN SELECT noetl.months_of('execution') LOOP
            start := to_date(month, 'YYYY_MM');
            EXECUTE format(
                'CREATE TABLE noetl.%I PARTITION OF noetl.%I FOR VALUES FROM (%s) TO (%s)',
                name || '_' || month,
                name,
                noetl.snowflake_at(start AT TIME ZONE 'UTC'),
                noetl.snowflake_at((start + interval '1 month') AT TIME ZONE 'UTC')
            );
        END LOOP;
    END LOOP;
END
$$;
