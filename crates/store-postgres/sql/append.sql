-- Writes all that a batch comes to, each table at once: its events ($1 to $7, and in $55 the digests
-- before them), executions ($8 to $25, the items of their loops in $52 to $54, the digests of their last
-- events in $56, the events of others after which new ones go on in $57 and $58, and in $51 which of
-- them are new), children ($26 to $28), open commands ($29 to $37), commands that are over ($38, $39),
-- timers ($40 to $42), timers that are over ($43, $44), messages ($45 to $47) and large values ($48 to
-- $50). The primary keys are what refuses a second writer: a row that should be new is inserted or
-- fails, and never waits for the lock of somebody who waits for ours. All fails too unless executions
-- that go on are where $59 and $64 say, and, if $60 says that open commands are all new, they are.
-- Instants are told by $47; $61 says whether that is to be put right by the clock here.
WITH clock AS MATERIALIZED (
    SELECT CASE WHEN $61 THEN clock_timestamp() - $47 ELSE interval '0' END AS shift
),
-- In the order of their ids, so that of two rivals one waits for the other.
locked AS MATERIALIZED (
    SELECT execution_id, seq, head_digest
    FROM noetl.execution
    WHERE execution_id = ANY ($8) AND execution_id BETWEEN $62 AND $63
    ORDER BY execution_id
    FOR NO KEY UPDATE
),
events AS (
    INSERT INTO noetl.event (
        execution_id, seq, event_id, event_type, node_name, created_at, body, prev_digest
    )
    SELECT
        execution_id, seq, event_id, event_type, node_name, created_at, body::json, prev_digest
    FROM unnest(
        $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[],
        $7::text[], $55::bytea[]
    ) AS new (execution_id, seq, event_id, event_type, node_name, created_at, body, prev_digest)
),
places AS (
    INSERT INTO noetl.event_place (event_id, execution_id, seq)
    SELECT event_id, execution_id, seq
    FROM unnest($3::bigint[], $1::bigint[], $2::bigint[]) AS new (event_id, execution_id, seq)
),
-- The order of all events.
feed AS (
    INSERT INTO noetl.feed_batch (position, executions, seqs, created_at)
    SELECT noetl.feed_position(), $1::bigint[], $2::bigint[], $47 + shift
    FROM clock
),
new_executions AS (
    INSERT INTO noetl.execution (
        execution_id, catalog_id, path, path_folded, version, status, seq, last_event_at,
        started_at, ended_at, parent_execution_id, parent_command_id, current_step, steps_total,
        steps_running, steps_completed, steps_failed, error, items_total, items_completed,
        items_failed, head_digest, fork_execution_id,
        fork_seq
    )
    SELECT
        execution_id, catalog_id, path, path_folded, version, status, seq, last_event_at,
        started_at, ended_at, parent_execution_id, parent_command_id, current_step, steps_total,
        steps_running, steps_completed, steps_failed, error::json, items_total, items_completed,
        items_failed, head_digest, fork_execution_id,
        fork_seq
    FROM unnest(
        $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::bigint[], $13::text[],
        $14::bigint[], $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::bigint[],
        $19::bigint[], $20::text[], $21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[],
        $25::text[], $51::boolean[], $52::bigint[], $53::bigint[], $54::bigint[], $56::bytea[],
        $57::bigint[], $58::bigint[]
    ) AS new (
        execution_id, catalog_id, path, path_folded, version, status, seq, last_event_at,
        started_at, ended_at, parent_execution_id, parent_command_id, current_step, steps_total,
        steps_running, steps_completed, steps_failed, error, is_new, items_total, items_completed,
        items_failed, head_digest, fork_execution_id, fork_seq
    )
    WHERE is_new
),
-- What an execution is (playbook, start, parent) does not change.
continued_executions AS (
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
        $8::bigint[], $13::text[], $14::bigint[], $15::timestamptz[], $17::timestamptz[],
        $20::text[], $21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[], $25::text[],
        $51::boolean[], $52::bigint[], $53::bigint[], $54::bigint[], $56::bytea[], $59::bigint[], $64::bytea[]
    ) AS changed (
        execution_id, status, seq, last_event_at, ended_at, current_step, steps_total,
        steps_running, steps_completed, steps_failed, error, is_new, items_total, items_completed,
        items_failed, head_digest, expected, expected_head
    )
    JOIN locked
        ON locked.execution_id = changed.execution_id
        AND locked.seq = changed.expected
        -- As far as both are known.
        AND coalesce(locked.head_digest = changed.expected_head, true)
    WHERE
        execution.execution_id = changed.execution_id
        -- What finds the partition.
        AND execution.execution_id BETWEEN $62 AND $63
        AND NOT changed.is_new
    RETURNING execution.execution_id
),
children AS (
    INSERT INTO noetl.child (parent_execution_id, parent_command_id, execution_id)
    SELECT parent_execution_id, parent_command_id, execution_id
    FROM unnest($26::bigint[], $27::bigint[], $28::bigint[])
        AS new (parent_execution_id, parent_command_id, execution_id)
),
open_commands AS (
    INSERT INTO noetl.command (
        execution_id, command_id, pool, step_name, attempt, status, worker_id, lease_until,
        created_at
    )
    SELECT
        execution_id, command_id, pool, step_name, attempt, status, worker_id, lease_until + shift,
        created_at + shift
    FROM clock CROSS JOIN unnest(
        $29::bigint[], $30::bigint[], $31::text[], $32::text[], $33::bigint[], $34::text[],
        $35::text[], $36::timestamptz[], $37::timestamptz[]
    ) WITH ORDINALITY AS new (
        execution_id, command_id, pool, step_name, attempt, status, worker_id, lease_until,
        created_at, place
    )
    ORDER BY place
    ON CONFLICT (execution_id, command_id) DO UPDATE SET
        attempt = excluded.attempt,
        status = excluded.status,
        worker_id = excluded.worker_id,
        lease_until = excluded.lease_until
    WHERE NOT $60
    RETURNING command_id
),
ended_commands AS (
    DELETE FROM noetl.command
    USING unnest($38::bigint[], $39::bigint[]) AS ended (execution_id, command_id)
    WHERE command.execution_id = ended.execution_id AND command.command_id = ended.command_id
),
timers AS (
    INSERT INTO noetl.timer (execution_id, timer_id, due_at)
    SELECT execution_id, timer_id, due_at
    FROM unnest($40::bigint[], $41::bigint[], $42::timestamptz[])
        AS new (execution_id, timer_id, due_at)
    ON CONFLICT (execution_id, timer_id) DO UPDATE SET due_at = excluded.due_at
),
ended_timers AS (
    DELETE FROM noetl.timer
    USING unnest($43::bigint[], $44::bigint[]) AS ended (execution_id, timer_id)
    WHERE timer.execution_id = ended.execution_id AND timer.timer_id = ended.timer_id
),
messages AS (
    INSERT INTO noetl.outbox (execution_id, message, created_at)
    SELECT execution_id, message::json, $47 + shift
    FROM clock
    CROSS JOIN unnest($45::bigint[], $46::text[]) WITH ORDINALITY
        AS new (execution_id, message, place)
    ORDER BY place
),
large_values AS (
    INSERT INTO noetl.result_store (execution_id, sha256, body)
    SELECT execution_id, sha256, body
    FROM unnest($48::bigint[], $49::bytea[], $50::bytea[]) AS new (execution_id, sha256, body)
    ON CONFLICT (execution_id, sha256) DO UPDATE SET loose_since = NULL
    WHERE result_store.loose_since IS NOT NULL
)
SELECT noetl.refuse_overtaken()
WHERE
    (SELECT count(*) FROM continued_executions)
        <> cardinality(array_positions($51::boolean[], false))
    OR (SELECT count(*) FROM open_commands) <> cardinality($29::bigint[])
