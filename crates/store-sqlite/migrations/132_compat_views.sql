-- Read-only views in the column shape of NoETL's own schema, for programs that read the database.
-- Columns that nothing here corresponds to are NULL or
-- have the default of that schema.

-- Public names and statuses of events.
CREATE VIEW IF NOT EXISTS noetl_compat_event_name (event_type, name, status) AS VALUES
    ('execution.started', 'playbook_started', 'STARTED'),
    ('execution.forked', 'execution.forked', 'STARTED'),
    ('step.entered', 'step.enter', 'ENTERED'),
    ('step.skipped', 'step.skipped', 'SKIPPED'),
    ('step.awaited', 'step.awaited', 'WAITING'),
    ('loop.opened', 'loop.opened', 'STARTED'),
    ('frame.opened', 'frame.opened', 'STARTED'),
    ('iteration.completed', 'iteration.completed', 'COMPLETED'),
    ('iteration.failed', 'iteration.failed', 'FAILED'),
    ('command.issued', 'command.issued', 'PENDING'),
    ('command.claimed', 'command.claimed', 'RUNNING'),
    ('command.completed', 'command.completed', 'COMPLETED'),
    ('command.failed', 'command.failed', 'FAILED'),
    ('command.cancelled', 'command.cancelled', 'CANCELLED'),
    ('attempt.superseded', 'attempt.superseded', 'SUPERSEDED'),
    ('child.started', 'child.started', 'STARTED'),
    ('context.updated', 'ctx.updated', 'CONTEXT'),
    ('timer.set', 'timer.set', 'WAITING'),
    ('timer.fired', 'timer.fired', 'COMPLETED'),
    ('timer.cancelled', 'timer.cancelled', 'CANCELLED'),
    ('step.completed', 'step.exit', 'COMPLETED'),
    ('step.failed', 'step.failed', 'FAILED'),
    ('execution.completed', 'playbook.completed', 'COMPLETED'),
    ('execution.failed', 'playbook.failed', 'FAILED'),
    ('execution.cancelled', 'playbook.cancelled', 'CANCELLED'),
    ('execution.stalled', 'execution.stalled', 'RUNNING'),
    ('execution.rewound', 'execution.rewound', 'RUNNING'),
    ('reported', 'reported', 'REPORTED');

CREATE VIEW IF NOT EXISTS noetl_compat_event AS
SELECT
    e.execution_id,
    x.catalog_id,
    e.event_id,
    NULL AS parent_event_id,
    CASE WHEN e.event_type = 'execution.started' THEN x.parent_execution_id END
        AS parent_execution_id,
    strftime('%Y-%m-%d %H:%M:%f', e.created_at / 1000000.0, 'unixepoch') AS created_at,
    CASE WHEN e.event_type = 'reported' THEN e.body ->> 'name' ELSE n.name END AS event_type,
    CASE
        WHEN n.name LIKE 'playbook%' THEN 'playbook'
        ELSE coalesce(e.node_name, issued.node_name)
    END AS node_id,
    CASE
        WHEN e.event_type = 'execution.started' THEN x.path
        WHEN n.name LIKE 'playbook%' THEN 'playbook'
        ELSE coalesce(e.node_name, issued.node_name)
    END AS node_name,
    CASE
        WHEN e.event_type = 'execution.started' THEN 'execution'
        WHEN e.event_type = 'command.issued' THEN e.body ->> 'tool'
    END AS node_type,
    CASE
        WHEN e.event_type = 'reported' THEN coalesce(e.body -> 'body' ->> 'status', n.status)
        ELSE n.status
    END AS status,
    NULL AS duration,
    CASE
        WHEN e.event_type = 'execution.started' THEN json_object(
            'catalog_id', x.catalog_id,
            'execution_id', e.execution_id,
            'path', x.path,
            'workload', (e.body -> 'workload' -> 'inline')
        )
        WHEN e.event_type = 'command.issued' THEN (e.body -> 'bindings')
    END AS context,
    CASE
        WHEN e.event_type = 'reported'
            THEN json_object(
                'status', coalesce(e.body -> 'body' ->> 'status', n.status),
                'context', (e.body -> 'body')
            )
        WHEN e.body -> 'output' -> 'ref' IS NOT NULL
            THEN json_object(
                'status', n.status,
                'reference', (e.body -> 'output' -> 'ref')
            )
        WHEN e.body -> 'output' -> 'inline' IS NOT NULL
            THEN json_object(
                'status', n.status,
                'context', json_object(
                    'data', (e.body -> 'output' -> 'inline')
                )
            )
        WHEN json_type(e.body, '$.error') = 'object'
            THEN json_object(
                'status', n.status,
                'context', json_object('error', (e.body -> 'error'))
            )
    END AS result,
    (json_object(
        'seq', e.seq,
        'command_id', e.body ->> 'command',
        'attempt', (e.body ->> 'attempt'),
        'worker_id', e.body ->> 'worker'
    )) AS meta,
    CASE
        WHEN json_type(e.body, '$.error') = 'object' THEN e.body -> 'error' ->> 'message'
    END AS error,
    NULL AS stack_trace,
    NULL AS current_index,
    NULL AS current_item,
    NULL AS distributed_state,
    NULL AS context_key,
    NULL AS context_value,
    NULL AS trace_component,
    e.body ->> 'worker' AS worker_id,
    'default' AS tenant_id,
    'default' AS organization_id,
    e.execution_id AS stream_id,
    e.seq AS stream_version,
    e.execution_id AS aggregate_id,
    'execution' AS aggregate_type,
    NULL AS schema_name,
    1 AS schema_version,
    strftime('%Y-%m-%d %H:%M:%f', e.created_at / 1000000.0, 'unixepoch') AS event_time,
    strftime('%Y-%m-%d %H:%M:%f', e.created_at / 1000000.0, 'unixepoch') AS ingest_time,
    NULL AS producer,
    NULL AS causation_id,
    NULL AS correlation_id,
    NULL AS idempotency_key,
    (e.body -> 'output' -> 'ref') AS payload_ref,
    NULL AS envelope_checksum,
    (
        SELECT previous.event_id
        FROM event AS previous
        WHERE previous.execution_id = e.execution_id AND previous.seq = e.seq - 1
    ) AS prev_event_id,
    (e.body ->> 'command') AS command_id,
    NULL AS stage_id,
    NULL AS frame_id
FROM event AS e
LEFT JOIN execution AS x ON x.execution_id = e.execution_id
LEFT JOIN noetl_compat_event_name AS n ON n.event_type = e.event_type
-- The step of a command or of a run is in the event that issued or entered it, most often a few
-- events earlier.
LEFT JOIN event AS issued
    ON issued.event_id = (
        SELECT i.event_id
        FROM event AS i
        WHERE
            e.node_name IS NULL
            AND i.execution_id = e.execution_id
            AND i.seq < e.seq
            AND CASE i.event_type
                WHEN 'command.issued' THEN i.body ->> 'command' = e.body ->> 'command'
                WHEN 'step.entered' THEN i.body ->> 'run' = e.body ->> 'run'
                ELSE false
            END
        ORDER BY i.seq DESC
        LIMIT 1
    );

CREATE VIEW IF NOT EXISTS noetl_compat_execution AS
SELECT
    x.execution_id,
    x.catalog_id,
    x.parent_execution_id,
    x.path,
    x.version,
    x.status,
    CASE WHEN last.event_type = 'reported' THEN last.body ->> 'name' ELSE n.name END
        AS last_event_type,
    last.node_name AS last_node_name,
    last.event_id AS last_event_id,
    strftime('%Y-%m-%d %H:%M:%f', x.started_at / 1000000.0, 'unixepoch') AS start_time,
    strftime('%Y-%m-%d %H:%M:%f', x.ended_at / 1000000.0, 'unixepoch') AS end_time,
    x.error ->> 'message' AS error,
    strftime('%Y-%m-%d %H:%M:%f', x.started_at / 1000000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%d %H:%M:%f', x.last_event_at / 1000000.0, 'unixepoch') AS updated_at
FROM execution AS x
LEFT JOIN event AS last ON last.execution_id = x.execution_id AND last.seq = x.seq
LEFT JOIN noetl_compat_event_name AS n ON n.event_type = last.event_type;

-- Commands that are open, from the queue, and those that have ended, from the log.
CREATE VIEW IF NOT EXISTS noetl_compat_command AS
SELECT
    (e.body ->> 'command') AS command_id,
    e.event_id,
    e.execution_id,
    x.catalog_id,
    x.parent_execution_id,
    NULL AS parent_command_id,
    e.node_name AS step_name,
    e.body ->> 'tool' AS tool_kind,
    CASE open.status
        WHEN 'ISSUED' THEN 'PENDING'
        WHEN 'CLAIMED' THEN 'RUNNING'
        WHEN 'PARKED' THEN 'RUNNING'
        ELSE coalesce(n.status, 'CANCELLED')
    END AS status,
    coalesce(open.worker_id, claimed.body ->> 'worker') AS worker_id,
    strftime('%Y-%m-%d %H:%M:%f', claimed.created_at / 1000000.0, 'unixepoch') AS claimed_at,
    strftime('%Y-%m-%d %H:%M:%f', claimed.created_at / 1000000.0, 'unixepoch') AS started_at,
    strftime('%Y-%m-%d %H:%M:%f', ended.created_at / 1000000.0, 'unixepoch') AS completed_at,
    max(coalesce(open.attempt, claimed.body ->> 'attempt', 1), 1) AS attempt,
    (e.body -> 'bindings') AS context,
    NULL AS context_key,
    NULL AS loop_event_id,
    (e.body ->> '$.task.place.item.index') AS iter_index,
    json_object('pool', e.body ->> 'pool') AS meta,
    (ended.body -> 'output' -> 'inline') AS result,
    ended.body -> 'error' ->> 'message' AS error,
    coalesce(ended.event_id, claimed.event_id, e.event_id) AS latest_event_id,
    NULL AS prev_event_id,
    NULL AS stage_id,
    NULL AS frame_id,
    strftime('%Y-%m-%d %H:%M:%f', e.created_at / 1000000.0, 'unixepoch') AS created_at,
    strftime(
        '%Y-%m-%d %H:%M:%f',
        coalesce(ended.created_at, claimed.created_at, e.created_at) / 1000000.0,
        'unixepoch'
    ) AS updated_at
FROM event AS e
LEFT JOIN execution AS x ON x.execution_id = e.execution_id
LEFT JOIN command AS open
    ON open.execution_id = e.execution_id AND open.command_id = (e.body ->> 'command')
LEFT JOIN event AS ended
    ON ended.event_id = (
        SELECT t.event_id
        FROM event AS t
        WHERE
            open.command_id IS NULL
            AND t.execution_id = e.execution_id
            AND t.seq > e.seq
            AND t.event_type IN ('command.completed', 'command.failed', 'command.cancelled')
            AND t.body ->> 'command' = e.body ->> 'command'
        ORDER BY t.seq
        LIMIT 1
    )
LEFT JOIN event AS claimed
    ON claimed.event_id = (
        SELECT c.event_id
        FROM event AS c
        WHERE
            open.status IS NOT 'ISSUED'
            AND c.execution_id = e.execution_id
            AND c.seq > e.seq
            AND c.event_type = 'command.claimed'
            AND c.body ->> 'command' = e.body ->> 'command'
        ORDER BY c.seq
        LIMIT 1
    )
LEFT JOIN noetl_compat_event_name AS n ON n.event_type = ended.event_type
WHERE e.event_type = 'command.issued';

-- Messages that are not sent yet.
CREATE VIEW IF NOT EXISTS noetl_compat_outbox AS
SELECT
    outbox_id,
    execution_id,
    (message ->> 'event_id') AS event_id,
    CASE
        WHEN message ->> 'type' = 'command_ready'
            THEN 'noetl.commands.' || (message ->> 'pool') || '.' || execution_id
    END AS subject,
    (message) AS payload,
    NULL AS payload_bytes,
    'json' AS payload_codec,
    CASE
        WHEN failed_at IS NOT NULL THEN 'FAILED'
        WHEN taken_until IS NOT NULL THEN 'IN_FLIGHT'
        ELSE 'PENDING'
    END AS status,
    attempts AS attempts,
    strftime('%Y-%m-%d %H:%M:%f', coalesce(taken_until, created_at) / 1000000.0, 'unixepoch') AS available_at,
    NULL AS locked_at,
    NULL AS published_at,
    last_error,
    strftime('%Y-%m-%d %H:%M:%f', created_at / 1000000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%d %H:%M:%f', coalesce(failed_at, created_at) / 1000000.0, 'unixepoch') AS updated_at
FROM outbox;
