-- Writes all that a batch comes to, each table at once and only those that it touches: a statement that
-- is not run costs nothing, one that finds no rows costs as much as one that writes a few. Executions are
-- in the order of their ids, so that of two rivals one waits for the other before it has written anything.
-- The primary keys are what refuses a second writer of what is new, and all fails too unless executions
-- that go on are where `expected_seqs` and `expected_heads` say, and, if `commands_are_new`, open commands
-- are. An array of rows that there are none of, or of values that all are missing, is NULL. `instant` is what the batch takes the time to be; `by_own_clock` says that the clock here is right.
CREATE FUNCTION noetl.append(
    event_executions bigint[],
    event_seqs bigint[],
    event_ids bigint[],
    event_types text[],
    event_steps text[],
    event_instants timestamptz[],
    event_bodies text[],
    event_prev_digests bytea[],
    execution_ids bigint[],
    are_new boolean[],
    catalog_ids bigint[],
    paths text[],
    paths_folded text[],
    versions bigint[],
    statuses text[],
    seqs bigint[],
    last_instants timestamptz[],
    start_instants timestamptz[],
    end_instants timestamptz[],
    parents bigint[],
    parent_commands bigint[],
    current_steps text[],
    totals_of_steps bigint[],
    running_steps bigint[],
    completed_steps bigint[],
    failed_steps bigint[],
    totals_of_items bigint[],
    completed_items bigint[],
    failed_items bigint[],
    errors text[],
    heads bytea[],
    fork_executions bigint[],
    fork_seqs bigint[],
    expected_seqs bigint[],
    expected_heads bytea[],
    child_parents bigint[],
    child_commands bigint[],
    child_executions bigint[],
    command_executions bigint[],
    command_ids bigint[],
    command_pools text[],
    command_steps text[],
    command_attempts bigint[],
    command_statuses text[],
    command_workers text[],
    command_leases timestamptz[],
    commands_are_new boolean,
    ended_command_executions bigint[],
    ended_command_ids bigint[],
    timer_executions bigint[],
    timer_ids bigint[],
    timer_instants timestamptz[],
    ended_timer_executions bigint[],
    ended_timer_ids bigint[],
    message_executions bigint[],
    message_bodies text[],
    payload_executions bigint[],
    payload_digests bytea[],
    payload_bodies bytea[],
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
    -- What finds the partition.
    first_execution constant bigint := execution_ids[1];
    last_execution constant bigint := execution_ids[cardinality(execution_ids)];
    written bigint;
BEGIN
    -- What an execution is (playbook, start, parent) does not change.
    IF false = ANY (are_new) THEN
        UPDATE noetl.execution
        SET
            status = changed.status,
            seq = changed.seq,
            last_event_at = changed.last_event_at,
            ended_at = changed.ended_at,
            current_step = changed.current_step,
            steps_total = changed.steps_total,
            steps_running = changed.steps_running,
            steps_completed = changed.steps_completed,
            steps_failed = changed.steps_failed,
            items_total = changed.items_total,
            items_completed = changed.items_completed,
            items_failed = changed.items_failed,
            error = changed.error::json,
            head_digest = changed.head_digest
        FROM unnest(
            execution_ids, are_new, statuses, seqs, last_instants, end_instants, current_steps,
            totals_of_steps, running_steps, completed_steps, failed_steps, totals_of_items,
            completed_items, failed_items, errors, heads, expected_seqs, expected_heads
        ) AS changed (
            execution_id, is_new, status, seq, last_event_at, ended_at, current_step, steps_total,
            steps_running, steps_completed, steps_failed, items_total, items_completed,
            items_failed, error, head_digest, expected, expected_head
        )
        WHERE
            execution.execution_id = changed.execution_id
            AND execution.execution_id BETWEEN first_execution AND last_execution
            AND NOT changed.is_new
            AND execution.seq = changed.expected
            -- As far as both are known.
            AND coalesce(execution.head_digest = changed.expected_head, true);
        GET DIAGNOSTICS written = ROW_COUNT;
        IF written <> cardinality(array_positions(are_new, false)) THEN
            RAISE EXCEPTION 'another writer got in between'
                USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;

    IF true = ANY (are_new) THEN
        INSERT INTO noetl.execution (
            execution_id, catalog_id, path, path_folded, version, status, seq, last_event_at,
            started_at, ended_at, parent_execution_id, parent_command_id, current_step,
            steps_total, steps_running, steps_completed, steps_failed, items_total,
            items_completed, items_failed, error, head_digest, fork_execution_id, fork_seq
        )
        SELECT
            execution_id, catalog_id, path, path_folded, version, status, seq, last_event_at,
            started_at, ended_at, parent_execution_id, parent_command_id, current_step,
            steps_total, steps_running, steps_completed, steps_failed, items_total,
            items_completed, items_failed, error::json, head_digest, fork_execution_id, fork_seq
        FROM unnest(
            execution_ids, are_new, catalog_ids, paths, paths_folded, versions, statuses, seqs,
            last_instants, start_instants, end_instants, parents, parent_commands, current_steps,
            totals_of_steps, running_steps, completed_steps, failed_steps, totals_of_items,
            completed_items, failed_items, errors, heads, fork_executions, fork_seqs
        ) AS new (
            execution_id, is_new, catalog_id, path, path_folded, version, status, seq,
            last_event_at, started_at, ended_at, parent_execution_id, parent_command_id,
            current_step, steps_total, steps_running, steps_completed, steps_failed, items_total,
            items_completed, items_failed, error, head_digest, fork_execution_id, fork_seq
        )
        WHERE is_new;
    END IF;

    INSERT INTO noetl.event (
        execution_id, seq, event_id, event_type, node_name, created_at, body, prev_digest
    )
    SELECT
        execution_id, seq, event_id, event_type, node_name, created_at, body::json, prev_digest
    FROM unnest(
        event_executions, event_seqs, event_ids, event_types, event_steps, event_instants,
        event_bodies, event_prev_digests
    ) AS new (execution_id, seq, event_id, event_type, node_name, created_at, body, prev_digest);
    INSERT INTO noetl.event_place (event_id, execution_id, seq)
    SELECT event_id, execution_id, seq
    FROM unnest(event_ids, event_executions, event_seqs) AS new (event_id, execution_id, seq);
    -- The order of all events.
    INSERT INTO noetl.feed_batch (position, executions, seqs, created_at)
    SELECT
        pg_current_xact_id()::text::bigint + feed_shift.shift, event_executions, event_seqs,
        instant + lag
    FROM noetl.feed_shift;

    IF cardinality(child_executions) > 0 THEN
        INSERT INTO noetl.child (parent_execution_id, parent_command_id, execution_id)
        SELECT parent_execution_id, parent_command_id, execution_id
        FROM unnest(child_parents, child_commands, child_executions)
            AS new (parent_execution_id, parent_command_id, execution_id);
    END IF;

    IF cardinality(ended_command_ids) > 0 THEN
        DELETE FROM noetl.command
        USING unnest(ended_command_executions, ended_command_ids)
            AS ended (execution_id, command_id)
        WHERE
            command.execution_id = ended.execution_id AND command.command_id = ended.command_id;
    END IF;

    IF cardinality(command_ids) > 0 THEN
        INSERT INTO noetl.command (
            execution_id, command_id, pool, step_name, attempt, status, worker_id, lease_until,
            created_at
        )
        SELECT
            execution_id, command_id, pool, step_name, attempt, status, worker_id,
            lease_until + lag, instant + lag
        FROM unnest(
            command_executions, command_ids, command_pools, command_steps, command_attempts,
            command_statuses, command_workers, command_leases
        ) WITH ORDINALITY AS new (
            execution_id, command_id, pool, step_name, attempt, status, worker_id, lease_until,
            place
        )
        ORDER BY place
        ON CONFLICT (execution_id, command_id) DO UPDATE SET
            attempt = excluded.attempt,
            status = excluded.status,
            worker_id = excluded.worker_id,
            lease_until = excluded.lease_until
        WHERE NOT commands_are_new;
        GET DIAGNOSTICS written = ROW_COUNT;
        IF written <> cardinality(command_ids) THEN
            RAISE EXCEPTION 'a command is there already' USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;

    IF cardinality(timer_ids) > 0 THEN
        INSERT INTO noetl.timer (execution_id, timer_id, due_at)
        SELECT execution_id, timer_id, due_at
        FROM unnest(timer_executions, timer_ids, timer_instants)
            AS new (execution_id, timer_id, due_at)
        ON CONFLICT (execution_id, timer_id) DO UPDATE SET due_at = excluded.due_at;
    END IF;

    IF cardinality(ended_timer_ids) > 0 THEN
        DELETE FROM noetl.timer
        USING unnest(ended_timer_executions, ended_timer_ids) AS ended (execution_id, timer_id)
        WHERE timer.execution_id = ended.execution_id AND timer.timer_id = ended.timer_id;
    END IF;

    IF cardinality(message_executions) > 0 THEN
        INSERT INTO noetl.outbox (execution_id, message, created_at)
        SELECT execution_id, message::json, instant + lag
        FROM unnest(message_executions, message_bodies) WITH ORDINALITY
            AS new (execution_id, message, place)
        ORDER BY place;
    END IF;

    IF cardinality(payload_executions) > 0 THEN
        INSERT INTO noetl.result_store (execution_id, sha256, body)
        SELECT execution_id, sha256, body
        FROM unnest(payload_executions, payload_digests, payload_bodies)
            AS new (execution_id, sha256, body)
        ON CONFLICT (execution_id, sha256) DO UPDATE SET loose_since = NULL
        WHERE result_store.loose_since IS NOT NULL;
    END IF;
END
$$;

DROP FUNCTION noetl.refuse_overtaken();
