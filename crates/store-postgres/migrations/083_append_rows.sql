-- What a batch comes to, as rows: one array of them costs the server a fraction of an array for each of
-- their columns.
-- How far an execution has come.
CREATE TYPE noetl.progress AS (
    status text,
    seq bigint,
    last_event_at timestamptz,
    ended_at timestamptz,
    current_step text,
    steps_total bigint,
    steps_running bigint,
    steps_completed bigint,
    steps_failed bigint,
    items_total bigint,
    items_completed bigint,
    items_failed bigint,
    error text,
    head_digest bytea
);
CREATE TYPE noetl.started_execution AS (
    execution_id bigint,
    catalog_id bigint,
    path text,
    path_folded text,
    version bigint,
    started_at timestamptz,
    parent_execution_id bigint,
    parent_command_id bigint,
    fork_execution_id bigint,
    fork_seq bigint,
    reached noetl.progress
);
-- What an execution is (playbook, start, parent) does not change.
CREATE TYPE noetl.changed_execution AS (
    execution_id bigint,
    reached noetl.progress,
    expected_seq bigint,
    expected_head bytea
);
CREATE TYPE noetl.appended_event AS (
    execution_id bigint,
    seq bigint,
    event_id bigint,
    event_type text,
    node_name text,
    created_at timestamptz,
    body text,
    prev_digest bytea
);
CREATE TYPE noetl.started_child AS (
    parent_execution_id bigint,
    parent_command_id bigint,
    execution_id bigint
);
CREATE TYPE noetl.opened_command AS (
    execution_id bigint,
    command_id bigint,
    pool text,
    step_name text,
    attempt bigint,
    status text,
    worker_id text,
    lease_until timestamptz
);
CREATE TYPE noetl.set_timer AS (execution_id bigint, timer_id bigint, due_at timestamptz);
-- A command or a timer that is over.
CREATE TYPE noetl.ended_work AS (execution_id bigint, id bigint);
CREATE TYPE noetl.posted_message AS (execution_id bigint, message text);
CREATE TYPE noetl.kept_payload AS (execution_id bigint, sha256 bytea, body bytea);

-- The function that takes an array for each column stays for servers of the version before, which are
-- replaced one by one.

-- Writes all that a batch comes to, each table at once and only those that it touches: a statement that
-- is not run costs nothing, one that finds no rows costs as much as one that writes a few. Executions are
-- in the order of their ids, so that of two rivals one waits for the other before it has written anything.
-- The primary keys are what refuses a second writer of what is new, and all fails too unless executions
-- that go on are where they are expected to be and, if `commands_are_new`, open commands are. An array of
-- rows that there are none of is NULL. `instant` is what the batch takes the time to be; `by_own_clock`
-- says that the clock here is right.
CREATE FUNCTION noetl.append(
    changed_executions noetl.changed_execution[],
    started_executions noetl.started_execution[],
    events noetl.appended_event[],
    children noetl.started_child[],
    opened_commands noetl.opened_command[],
    commands_are_new boolean,
    ended_commands noetl.ended_work[],
    set_timers noetl.set_timer[],
    ended_timers noetl.ended_work[],
    messages noetl.posted_message[],
    payloads noetl.kept_payload[],
    instant timestamptz,
    by_own_clock boolean
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    -- How far the clock here is ahead.
    lag constant interval := CASE
        WHEN by_own_clock THEN clock_timestamp() - instant
        ELSE interval '0'
    END;
    written bigint;
BEGIN
    IF changed_executions IS NOT NULL THEN
        UPDATE noetl.execution
        SET
            status = (changed.reached).status,
            seq = (changed.reached).seq,
            last_event_at = (changed.reached).last_event_at,
            ended_at = (changed.reached).ended_at,
            current_step = (changed.reached).current_step,
            steps_total = (changed.reached).steps_total,
            steps_running = (changed.reached).steps_running,
            steps_completed = (changed.reached).steps_completed,
            steps_failed = (changed.reached).steps_failed,
            items_total = (changed.reached).items_total,
            items_completed = (changed.reached).items_completed,
            items_failed = (changed.reached).items_failed,
            error = (changed.reached).error::json,
            head_digest = (changed.reached).head_digest
        FROM unnest(changed_executions) AS changed
        WHERE
            execution.execution_id = changed.execution_id
            -- What finds the partition.
            AND execution.execution_id BETWEEN
                (changed_executions[1]).execution_id
                AND (changed_executions[cardinality(changed_executions)]).execution_id
            AND execution.seq = changed.expected_seq
            -- As far as both are known.
            AND coalesce(execution.head_digest = changed.expected_head, true);
        GET DIAGNOSTICS written = ROW_COUNT;
        IF written <> cardinality(changed_executions) THEN
            RAISE EXCEPTION 'another writer got in between'
                USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;

    IF started_executions IS NOT NULL THEN
        INSERT INTO noetl.execution (
            execution_id, catalog_id, path, path_folded, version, started_at, parent_execution_id,
            parent_command_id, fork_execution_id, fork_seq, status, seq, last_event_at, ended_at,
            current_step, steps_total, steps_running, steps_completed, steps_failed, items_total,
            items_completed, items_failed, error, head_digest
        )
        SELECT
            execution_id, catalog_id, path, path_folded, version, started_at, parent_execution_id,
            parent_command_id, fork_execution_id, fork_seq, (reached).status, (reached).seq,
            (reached).last_event_at, (reached).ended_at, (reached).current_step,
            (reached).steps_total, (reached).steps_running, (reached).steps_completed,
            (reached).steps_failed, (reached).items_total, (reached).items_completed,
            (reached).items_failed, (reached).error::json, (reached).head_digest
        FROM unnest(started_executions);
    END IF;

    INSERT INTO noetl.event (
        execution_id, seq, event_id, event_type, node_name, created_at, body, prev_digest
    )
    SELECT
        execution_id, seq, event_id, event_type, node_name, created_at, body::json, prev_digest
    FROM unnest(events);
    INSERT INTO noetl.event_place (event_id, execution_id, seq)
    SELECT event_id, execution_id, seq
    FROM unnest(events);
    -- The order of all events.
    INSERT INTO noetl.feed_batch (position, executions, seqs, created_at)
    SELECT
        pg_current_xact_id()::text::bigint + feed_shift.shift, appended.executions,
        appended.seqs, instant + lag
    FROM
        noetl.feed_shift,
        (
            SELECT array_agg(execution_id) AS executions, array_agg(seq) AS seqs
            FROM unnest(events)
        ) AS appended;

    IF children IS NOT NULL THEN
        INSERT INTO noetl.child (parent_execution_id, parent_command_id, execution_id)
        SELECT parent_execution_id, parent_command_id, execution_id
        FROM unnest(children);
    END IF;

    IF ended_commands IS NOT NULL THEN
        DELETE FROM noetl.command
        USING unnest(ended_commands) AS ended
        WHERE command.execution_id = ended.execution_id AND command.command_id = ended.id;
    END IF;

    IF opened_commands IS NOT NULL THEN
        INSERT INTO noetl.command (
            execution_id, command_id, pool, step_name, attempt, status, worker_id, lease_until,
            created_at
        )
        SELECT
            execution_id, command_id, pool, step_name, attempt, status, worker_id,
            lease_until + lag, instant + lag
        FROM unnest(opened_commands) WITH ORDINALITY
        ORDER BY ordinality
        ON CONFLICT (execution_id, command_id) DO UPDATE SET
            attempt = excluded.attempt,
            status = excluded.status,
            worker_id = excluded.worker_id,
            lease_until = excluded.lease_until
        WHERE NOT commands_are_new;
        GET DIAGNOSTICS written = ROW_COUNT;
        IF written <> cardinality(opened_commands) THEN
            RAISE EXCEPTION 'a command is there already' USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;

    IF set_timers IS NOT NULL THEN
        INSERT INTO noetl.timer (execution_id, timer_id, due_at)
        SELECT execution_id, timer_id, due_at
        FROM unnest(set_timers)
        ON CONFLICT (execution_id, timer_id) DO UPDATE SET due_at = excluded.due_at;
    END IF;

    IF ended_timers IS NOT NULL THEN
        DELETE FROM noetl.timer
        USING unnest(ended_timers) AS ended
        WHERE timer.execution_id = ended.execution_id AND timer.timer_id = ended.id;
    END IF;

    IF messages IS NOT NULL THEN
        INSERT INTO noetl.outbox (execution_id, message, created_at)
        SELECT execution_id, message::json, instant + lag
        FROM unnest(messages) WITH ORDINALITY
        ORDER BY ordinality;
    END IF;

    IF payloads IS NOT NULL THEN
        INSERT INTO noetl.result_store (execution_id, sha256, body)
        SELECT execution_id, sha256, body
        FROM unnest(payloads)
        ON CONFLICT (execution_id, sha256) DO UPDATE SET loose_since = NULL
        WHERE result_store.loose_since IS NOT NULL;
    END IF;
END
$$;
