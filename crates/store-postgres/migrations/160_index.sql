-- The index of executions: labels, and open waits that something outside can end. Partitions are
-- dropped together with those of the executions.
CREATE TABLE noetl.execution_index (
    kind         text             NOT NULL,
    key          text COLLATE "C" NOT NULL,
    execution_id bigint           NOT NULL,
    -- The command that waits; -1 for an entry about the execution as a whole.
    command_id   bigint           NOT NULL CHECK (command_id >= -1),
    created_at   timestamptz      NOT NULL,
    -- list_index_newest.sql, list_index_oldest.sql, functions/append.sql
    PRIMARY KEY (kind, key, execution_id, command_id)
) PARTITION BY RANGE (execution_id);

-- list_open_index.sql
CREATE INDEX execution_index_open
    ON noetl.execution_index (kind, created_at, execution_id, command_id, key)
    WHERE command_id >= 0;

INSERT INTO noetl.partitioned (table_name, key_column, page_fill, by_start) VALUES
    ('execution_index', 'execution_id', 90, true);

-- Every month that executions are kept for has a partition, so that all of it leaves together.
DO $$
DECLARE
    month text;
    start timestamp;
BEGIN
    CREATE TABLE noetl.execution_index_default PARTITION OF noetl.execution_index DEFAULT;
    FOR month IN SELECT noetl.months_of('execution') LOOP
        start := to_date(month, 'YYYY_MM');
        EXECUTE format(
            'CREATE TABLE noetl.%I PARTITION OF noetl.execution_index FOR VALUES FROM (%s) TO (%s)',
            'execution_index_' || month,
            noetl.snowflake_at(start AT TIME ZONE 'UTC'),
            noetl.snowflake_at((start + interval '1 month') AT TIME ZONE 'UTC')
        );
    END LOOP;
END
$$;

-- A row of the index as an argument of the append function.
CREATE TYPE noetl.index_row AS (
    kind         text,
    key          text,
    execution_id bigint,
    command_id   bigint,
    created_at   timestamptz
);
