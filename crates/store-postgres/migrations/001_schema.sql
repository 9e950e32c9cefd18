-- What one shard keeps. Tables that grow with history are partitioned by the month of their key, a
-- snowflake and so a time: expired months leave by DROP. JSON is `json`, not `jsonb`, because the
-- form of numbers and the order of keys have to survive.

CREATE TABLE noetl.execution (
    execution_id        bigint      PRIMARY KEY,
    catalog_id          bigint      NOT NULL,
    path                text        NOT NULL,
    -- The path in lower case, for searching.
    path_folded         text        NOT NULL,
    version             bigint      NOT NULL CHECK (version >= 0),
    status              text        NOT NULL
        CHECK (status IN ('RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED')),
    -- The number of its last event.
    seq                 bigint      NOT NULL CHECK (seq >= 0),
    last_event_at       timestamptz NOT NULL,
    started_at          timestamptz NOT NULL,
    ended_at            timestamptz,
    parent_execution_id bigint,
    parent_command_id   bigint,
    current_step        text,
    steps_total         bigint      NOT NULL CHECK (steps_total >= 0),
    steps_running       bigint      NOT NULL CHECK (steps_running >= 0),
    steps_completed     bigint      NOT NULL CHECK (steps_completed >= 0),
    steps_failed        bigint      NOT NULL CHECK (steps_failed >= 0),
    error               json,
    CHECK ((parent_execution_id IS NULL) = (parent_command_id IS NULL))
) PARTITION BY RANGE (execution_id);

-- No index holds a column that changes with every append, so that updates stay within the page.

-- list_executions_by_status.sql, stalled_executions.sql
CREATE INDEX execution_status ON noetl.execution (status, execution_id);

-- list_executions_by_parent.sql
CREATE INDEX execution_parent ON noetl.execution (parent_execution_id, execution_id)
    WHERE parent_execution_id IS NOT NULL;

-- Which execution was started for which command. A table of its own, because a unique key of a
-- partitioned table contains the key of its partitions.
CREATE TABLE noetl.child (
    parent_execution_id bigint NOT NULL,
    parent_command_id   bigint NOT NULL CHECK (parent_command_id >= 0),
    execution_id        bigint NOT NULL,
    -- find_child.sql, find_children.sql; refuses a second child for one command.
    PRIMARY KEY (parent_execution_id, parent_command_id)
) PARTITION BY RANGE (parent_execution_id);

-- The log.
CREATE TABLE noetl.event (
    execution_id bigint      NOT NULL,
    seq          bigint      NOT NULL CHECK (seq > 0),
    event_id     bigint      NOT NULL,
    event_type   text        NOT NULL,
    node_name    text,
    created_at   timestamptz NOT NULL,
    body         json        NOT NULL,
    -- read_events.sql; refuses a second writer.
    PRIMARY KEY (execution_id, seq)
) PARTITION BY RANGE (execution_id);

-- Where each event is, by its public id: one look-up in one partition, whatever execution it is of.
CREATE TABLE noetl.event_place (
    -- find_event.sql, find_event_ids.sql; refuses an id that is used.
    event_id     bigint PRIMARY KEY,
    execution_id bigint NOT NULL,
    seq          bigint NOT NULL
) PARTITION BY RANGE (event_id);

-- Large values by the SHA-256 of their JSON, once for each execution that refers to them.
CREATE TABLE noetl.result_store (
    execution_id bigint NOT NULL,
    sha256       bytea  NOT NULL CHECK (length(sha256) = 32),
    body         bytea  NOT NULL,
    PRIMARY KEY (execution_id, sha256)
) PARTITION BY RANGE (execution_id);

-- find_payload.sql
CREATE INDEX result_store_sha256 ON noetl.result_store (sha256);

-- Saved folds: a cache, whose rows may be deleted at any time.
CREATE TABLE noetl.projection_snapshot (
    execution_id bigint PRIMARY KEY,
    seq          bigint NOT NULL CHECK (seq >= 0),
    shape        bigint NOT NULL CHECK (shape >= 0),
    body         bytea  NOT NULL
) PARTITION BY RANGE (execution_id);

-- Open commands only: the queue.
CREATE TABLE noetl.command (
    execution_id bigint      NOT NULL,
    command_id   bigint      NOT NULL CHECK (command_id >= 0),
    -- Grows with every command that is added.
    position     bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    pool         text        NOT NULL,
    step_name    text        NOT NULL,
    attempt      bigint      NOT NULL CHECK (attempt >= 0),
    status       text        NOT NULL CHECK (status IN ('ISSUED', 'CLAIMED', 'PARKED')),
    worker_id    text,
    lease_until  timestamptz,
    created_at   timestamptz NOT NULL,
    -- lock_commands.sql, extend_leases.sql, append.sql, stalled_executions.sql
    PRIMARY KEY (execution_id, command_id),
    CHECK ((status = 'CLAIMED') = (worker_id IS NOT NULL)),
    CHECK ((status = 'CLAIMED') = (lease_until IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- ready_commands.sql, count_ready_commands.sql: those that nobody has taken.
CREATE INDEX command_issued ON noetl.command (pool, created_at, position)
    WHERE status = 'ISSUED';

-- ready_commands.sql, count_ready_commands.sql, exhausted_leases.sql: those whose worker is lost.
CREATE INDEX command_lease ON noetl.command (lease_until, position) WHERE status = 'CLAIMED';

-- release_leases.sql, renew_leases.sql
CREATE INDEX command_worker ON noetl.command (worker_id) WHERE status = 'CLAIMED';

CREATE TABLE noetl.timer (
    execution_id bigint      NOT NULL,
    timer_id     bigint      NOT NULL CHECK (timer_id >= 0),
    due_at       timestamptz NOT NULL,
    PRIMARY KEY (execution_id, timer_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- due_timers.sql, next_timer.sql
CREATE INDEX timer_due ON noetl.timer (due_at, execution_id, timer_id);

-- Owed messages only. An id is never used again: it is the message's identity towards others.
CREATE TABLE noetl.outbox (
    outbox_id    bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    execution_id bigint      NOT NULL,
    message      json        NOT NULL,
    attempts     bigint      NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- Until when the message is its sender's.
    taken_until  timestamptz,
    created_at   timestamptz NOT NULL,
    CHECK ((attempts = 0) = (taken_until IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- take_messages.sql: those that nobody has taken, oldest first.
CREATE INDEX outbox_fresh ON noetl.outbox (outbox_id) WHERE taken_until IS NULL;

-- take_messages.sql: those whose sender is lost.
CREATE INDEX outbox_taken ON noetl.outbox (taken_until, outbox_id)
    WHERE taken_until IS NOT NULL;

-- stalled_executions.sql
CREATE INDEX outbox_execution ON noetl.outbox (execution_id);

-- Playbooks, in the cluster's database.
CREATE TABLE noetl.catalog (
    catalog_id bigint           PRIMARY KEY,
    path       text COLLATE "C" NOT NULL,
    version    bigint           NOT NULL CHECK (version > 0),
    kind       text             NOT NULL,
    content    text             NOT NULL,
    created_at timestamptz      NOT NULL
);

-- newest_playbook.sql, find_playbook_version.sql, list_paths.sql; refuses a version that is taken.
CREATE UNIQUE INDEX catalog_path ON noetl.catalog (path, version DESC);

-- The tables that are partitioned by month, and the column that tells the month.
CREATE TABLE noetl.partitioned (
    table_name  text PRIMARY KEY,
    key_column  text NOT NULL,
    -- How full a page of a partition is made; what is updated often keeps room for it.
    page_fill   integer NOT NULL,
    -- Whether a row is of the month in which its execution started.
    by_start    boolean NOT NULL
);

INSERT INTO noetl.partitioned (table_name, key_column, page_fill, by_start) VALUES
    ('execution', 'execution_id', 60, true),
    ('child', 'parent_execution_id', 100, true),
    ('event', 'execution_id', 100, true),
    ('event_place', 'event_id', 100, false),
    ('result_store', 'execution_id', 100, true),
    ('projection_snapshot', 'execution_id', 100, true);

-- The smallest snowflake of an instant: milliseconds since 2024 above 22 bits.
CREATE FUNCTION noetl.snowflake_at(instant timestamptz) RETURNS bigint
LANGUAGE sql STABLE
RETURN (floor(extract(epoch FROM instant) * 1000)::bigint - 1704067200000) << 22;

-- Makes the partitions of the month of `around`, the one before and `ahead` more, where they are
-- missing; the answer is how many were. Rows that came too early move in from the default partition.
CREATE FUNCTION noetl.make_partitions(around timestamptz, ahead integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    this_month constant timestamp := date_trunc('month', around AT TIME ZONE 'UTC');
    month timestamp;
    kind noetl.partitioned;
    name text;
    lower_bound bigint;
    upper_bound bigint;
    made integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('noetl.partitions', 0));
    -- Whoever comes after a waiting change of a table waits too, so it gives up soon.
    PERFORM set_config('lock_timeout', '2s', true);
    FOR month IN
        SELECT generate_series(
            this_month - interval '1 month',
            this_month + ahead * interval '1 month',
            interval '1 month'
        )
    LOOP
        FOR kind IN SELECT * FROM noetl.partitioned ORDER BY table_name LOOP
            name := kind.table_name || to_char(month, '"_"YYYY_MM');
            CONTINUE WHEN to_regclass(format('noetl.%I', name)) IS NOT NULL;
            lower_bound := noetl.snowflake_at(month AT TIME ZONE 'UTC');
            upper_bound := noetl.snowflake_at((month + interval '1 month') AT TIME ZONE 'UTC');
            EXECUTE format(
                'CREATE TABLE noetl.%I (LIKE noetl.%I INCLUDING ALL) WITH (fillfactor = %s)',
                name, kind.table_name, kind.page_fill
            );
            EXECUTE format('LOCK TABLE noetl.%I IN ACCESS EXCLUSIVE MODE', kind.table_name || '_default');
            EXECUTE format(
                'WITH early AS (DELETE FROM noetl.%1$I WHERE %2$I >= $1 AND %2$I < $2 RETURNING *)
                 INSERT INTO noetl.%3$I SELECT * FROM early',
                kind.table_name || '_default', kind.key_column, name
            ) USING lower_bound, upper_bound;
            EXECUTE format(
                'ALTER TABLE noetl.%I ATTACH PARTITION noetl.%I FOR VALUES FROM (%s) TO (%s)',
                kind.table_name, name, lower_bound, upper_bound
            );
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;

-- The months a table has partitions for, oldest first, as in their names: 2026_01.
CREATE FUNCTION noetl.months_of(partitioned_name text) RETURNS SETOF text
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT right(relation.relname, 7)
    FROM pg_inherits
    JOIN pg_class AS relation ON relation.oid = pg_inherits.inhrelid
    WHERE
        pg_inherits.inhparent = format('noetl.%I', partitioned_name)::regclass
        AND relation.relname <> partitioned_name || '_default'
    ORDER BY 1;
END;

-- Drops the months that end at `before` or earlier, except those in which an execution that still
-- runs was started; the answer is the months that are gone.
CREATE FUNCTION noetl.drop_partitions(before timestamptz) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    month text;
    name text;
    is_open boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('noetl.partitions', 0));
    -- Whoever comes after a waiting change of a table waits too, so it gives up soon.
    PERFORM set_config('lock_timeout', '2s', true);
    FOR month IN SELECT noetl.months_of('execution') LOOP
        EXIT WHEN to_date(month, 'YYYY_MM') + interval '1 month' > before AT TIME ZONE 'UTC';
        EXECUTE format('LOCK TABLE noetl.%I IN ACCESS EXCLUSIVE MODE', 'execution_' || month);
        EXECUTE format(
            'SELECT EXISTS (SELECT 1 FROM noetl.%I WHERE status = ''RUNNING'')', 'execution_' || month
        ) INTO is_open;
        CONTINUE WHEN is_open;
        FOR name IN SELECT table_name FROM noetl.partitioned WHERE by_start LOOP
            EXECUTE format('DROP TABLE noetl.%I', name || '_' || month);
        END LOOP;
        RETURN NEXT month;
    END LOOP;
    -- The id of an event is younger than its execution: what is older than every execution is gone.
    FOR name IN
        SELECT table_name || '_' || months_of
        FROM noetl.partitioned CROSS JOIN LATERAL noetl.months_of(table_name)
        WHERE NOT by_start AND months_of < (SELECT min(kept) FROM noetl.months_of('execution') AS kept)
    LOOP
        EXECUTE format('DROP TABLE noetl.%I', name);
    END LOOP;
END
$$;

-- A row of a month that has no partition is kept all the same.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT table_name FROM noetl.partitioned LOOP
        EXECUTE format('CREATE TABLE noetl.%I PARTITION OF noetl.%I DEFAULT', name || '_default', name);
    END LOOP;
END
$$;
