-- Version 5 of the append function: writes all rows of a batch in one call. Returns false, and
-- writes nothing, if one of `keys` is held.
--
-- The function runs only the statements that have rows to write; an array without rows is NULL.
-- Executions are sorted by id, so that one of two concurrent writers waits for the other before it
-- has written anything. Primary keys reject a second writer of new rows. The call fails with a
-- serialization failure if an execution is not at its expected seq and head digest or, with
-- `commands_are_new`, if an opened command exists.
--
-- `instant` is the time on which the batch is based. With `by_own_clock`, the database's clock is
-- right, and stored times are shifted by the difference.
--
-- Servers create this version at start-up and call it by its number. Every change of this file needs
-- the next number, here, in `append.sql` and in `functions.rs`: servers of both versions run during a
-- rolling upgrade. The argument types are part of the schema (migrations 083, 096, 160, 161 and
-- 180).
CREATE OR REPLACE FUNCTION noetl.append_v5(
    keys noetl.kept_key[],
    changed_executions noetl.changed_execution[],
    started_executions noetl.new_execution[],
    events noetl.appended_event[],
    children noetl.started_child[],
    opened_commands noetl.queued_command[],
    commands_are_new boolean,
    ended_commands noetl.ended_work[],
    set_timers noetl.set_timer[],
    ended_timers noetl.ended_work[],
    messages noetl.posted_message[],
    payloads noetl.kept_payload[],
    removed_index noetl.index_row[],
    added_index noetl.index_row[],
    instant timestamptz,
    by_own_clock boolean
) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    -- The difference between the database's clock and the caller's.
    lag constant interval := CASE
        WHEN by_own_clock THEN clock_timestamp() - instant
        ELSE interval '0'
    END;
    written bigint;
BEGIN
    IF keys IS NOT NULL THEN
        PERFORM
        FROM unnest(keys) AS wanted
        JOIN noetl.start_key AS held ON held.scope = wanted.scope AND held.name = wanted.name
        WHERE held.kept_until > instant + lag;
        IF FOUND THEN
            RETURN false;
        END IF;

        -- Expired keys are deleted a few at a time.
        DELETE FROM noetl.start_key
        WHERE ctid = ANY (ARRAY(
            SELECT ctid
            FROM noetl.start_key
            WHERE kept_until <= instant + lag
            ORDER BY kept_until
            LIMIT 100
            FOR UPDATE SKIP LOCKED
        ));

        -- All writers insert keys in the same order, so that the second waits for the first.
        INSERT INTO noetl.start_key (scope, name, execution_id, request, kept_until)
        SELECT
            wanted.scope, wanted.name, wanted.execution_id, wanted.request,
            wanted.kept_until + lag
        FROM unnest(keys) AS wanted
        ORDER BY wanted.scope, wanted.name
        ON CONFLICT (scope, name) DO UPDATE SET
            execution_id = excluded.execution_id,
            request = excluded.request,
            kept_until = excluded.kept_until
        WHERE start_key.kept_until <= instant + lag;
        GET DIAGNOSTICS written = ROW_COUNT;
        IF written <> cardinality(keys) THEN
            RAISE EXCEPTION 'another writer got in between'
                USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;

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
            -- Selects the partition.
            AND execution.execution_id BETWEEN
                (changed_executions[1]).execution_id
                AND (changed_executions[cardinality(changed_executions)]).execution_id
            AND execution.seq = changed.expected_seq
            -- Executions without a digest come from servers that wrote none.
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
            parent_command_id, fork_execution_id, fork_seq, labels, actor, status, seq,
            last_event_at, ended_at,
            current_step, steps_total, steps_running, steps_completed, steps_failed, items_total,
            items_completed, items_failed, error, head_digest
        )
        SELECT
            execution_id, catalog_id, path, path_folded, version, started_at, parent_execution_id,
            parent_command_id, fork_execution_id, fork_seq, labels::json, actor,
            (reached).status, (reached).seq,
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
    -- The position of the batch in the feed of all events.
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
            created_at, priority
        )
        SELECT
            execution_id, command_id, pool, step_name, attempt, status, worker_id,
            lease_until + lag, instant + lag, priority
        FROM unnest(opened_commands) WITH ORDINALITY
        ORDER BY ordinality
        ON CONFLICT (execution_id, command_id) DO UPDATE SET
            attempt = excluded.attempt,
            -- A command waits for a worker since it is no longer parked.
            created_at = CASE
                WHEN command.status = 'PARKED' AND excluded.status = 'ISSUED'
                    THEN excluded.created_at
                ELSE command.created_at
            END,
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
        INSERT INTO noetl.payload_reference (execution_id, sha256)
        SELECT execution_id, sha256
        FROM unnest(payloads)
        ON CONFLICT (execution_id, sha256) DO NOTHING;
        -- A payload without a body is stored already, for this execution or another one.
        INSERT INTO noetl.result_store (execution_id, sha256, body)
        SELECT execution_id, sha256, body
        FROM unnest(payloads)
        WHERE body IS NOT NULL
        ON CONFLICT (execution_id, sha256) DO UPDATE SET loose_since = NULL
        WHERE result_store.loose_since IS NOT NULL;
    END IF;

    IF removed_index IS NOT NULL THEN
        DELETE FROM noetl.execution_index AS entry
        USING unnest(removed_index) AS removed
        WHERE
            entry.kind = removed.kind
            AND entry.key = removed.key
            AND entry.execution_id = removed.execution_id
            AND entry.command_id = removed.command_id
            -- Selects the partition.
            AND entry.execution_id BETWEEN
                (removed_index[1]).execution_id
                AND (removed_index[cardinality(removed_index)]).execution_id;
    END IF;

    IF added_index IS NOT NULL THEN
        INSERT INTO noetl.execution_index (kind, key, execution_id, command_id, created_at)
        SELECT kind, key, execution_id, command_id, created_at
        FROM unnest(added_index)
        ON CONFLICT (kind, key, execution_id, command_id)
        DO UPDATE SET created_at = excluded.created_at;
    END IF;

    RETURN true;
END
$$;
