-- Inserts or updates summaries; ?1 is a JSON array of rows. The identity of an execution (playbook,
-- start, parent, labels) does not change.
INSERT INTO execution (
    execution_id, catalog_id, path, path_folded, version, status, seq, last_event_at, started_at,
    ended_at, parent_execution_id, parent_command_id, current_step, steps_total, steps_running,
    steps_completed, steps_failed, items_total, items_completed, items_failed, error,
    head_digest, fork_execution_id, fork_seq, labels, actor
)
SELECT
    value ->> 'execution_id',
    value ->> 'catalog_id',
    value ->> 'path',
    value ->> 'path_folded',
    value ->> 'version',
    value ->> 'status',
    value ->> 'seq',
    value ->> 'last_event_at',
    value ->> 'started_at',
    value ->> 'ended_at',
    value ->> 'parent_execution_id',
    value ->> 'parent_command_id',
    value ->> 'current_step',
    value ->> 'steps_total',
    value ->> 'steps_running',
    value ->> 'steps_completed',
    value ->> 'steps_failed',
    value ->> 'items_total',
    value ->> 'items_completed',
    value ->> 'items_failed',
    value ->> 'error',
    unhex(value ->> 'head_digest'),
    value ->> 'fork_execution_id',
    value ->> 'fork_seq',
    value ->> 'labels',
    value ->> 'actor'
FROM json_each(?1)
WHERE true
ON CONFLICT (execution_id) DO UPDATE SET
    status = excluded.status,
    seq = excluded.seq,
    last_event_at = excluded.last_event_at,
    ended_at = excluded.ended_at,
    current_step = excluded.current_step,
    steps_total = excluded.steps_total,
    steps_running = excluded.steps_running,
    steps_completed = excluded.steps_completed,
    steps_failed = excluded.steps_failed,
    items_total = excluded.items_total,
    items_completed = excluded.items_completed,
    items_failed = excluded.items_failed,
    error = excluded.error,
    head_digest = excluded.head_digest
