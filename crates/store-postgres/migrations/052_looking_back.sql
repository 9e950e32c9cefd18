-- Lists of a path's executions at one status, newest first. The order is one that no other index has:
-- by the key alone, a status that few have would be looked for in every execution.

-- list_executions_by_path.sql, list_executions_by_part.sql
CREATE INDEX execution_path_newest ON noetl.execution (path_folded, status, (-execution_id));

DROP INDEX noetl.execution_path_status;

-- Replays as far as some event, to go on from: a cache, whose rows may be deleted at any time.
CREATE TABLE noetl.replay_fold (
    execution_id  bigint           NOT NULL,
    projection    text COLLATE "C" NOT NULL,
    seq           bigint           NOT NULL CHECK (seq > 0),
    -- The largest id and the latest time among the events up to there.
    last_event_id bigint           NOT NULL,
    last_event_at timestamptz      NOT NULL,
    shape         bigint           NOT NULL CHECK (shape >= 0),
    body          bytea            NOT NULL,
    -- find_replay_fold.sql
    PRIMARY KEY (execution_id, projection, seq)
) PARTITION BY RANGE (execution_id);

INSERT INTO noetl.partitioned (table_name, key_column, page_fill, by_start) VALUES
    ('replay_fold', 'execution_id', 100, true);

-- Every month that executions are kept for has a partition, so that all of it leaves together.
DO $$
DECLARE
    month text;
    start timestamp;
BEGIN
    CREATE TABLE noetl.replay_fold_default PARTITION OF noetl.replay_fold DEFAULT;
    FOR month IN SELECT noetl.months_of('execution') LOOP
        start := to_date(month, 'YYYY_MM');
        EXECUTE format(
            'CREATE TABLE noetl.%I PARTITION OF noetl.replay_fold FOR VALUES FROM (%s) TO (%s)',
            'replay_fold_' || month,
            noetl.snowflake_at(start AT TIME ZONE 'UTC'),
            noetl.snowflake_at((start + interval '1 month') AT TIME ZONE 'UTC')
        );
    END LOOP;
END
$$;
