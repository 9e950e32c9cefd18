-- Read-only views in the column shape of NoETL's own schema, for programs that read the database.
-- Each shard has the views of its executions. Columns that nothing here corresponds to are NULL or
-- have the default of that schema.

CREATE SCHEMA IF NOT EXISTS noetl_compat;

-- Public names and statuses of events.
CREATE OR REPLACE VIEW noetl_compat.event_name (event_type, name, status) AS VALUES
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

-- Converts to jsonb, which cannot hold the character U+0000; U+FFFD takes its place.
CREATE OR REPLACE FUNCTION noetl_compat.to_jsonb(value json) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN strpos(value::text, '\u0000') = 0 THEN value::text::jsonb
    ELSE replace(value::text, '\u0000', '\ufffd')::jsonb
END;

-- The log with bodies as jsonb. Common table expressions make views read-only.
CREATE OR REPLACE VIEW noetl_compat.log AS
WITH stored AS (SELECT * FROM noetl.event)
SELECT
    execution_id, seq, event_id, event_type, node_name, created_at,
    noetl_compat.to_jsonb(body) AS body
FROM stored;

CREATE OR REPLACE VIEW noetl_compat.event AS
SELECT
    e.execution_id,
    x.catalog_id,
    e.event_id,
    NULL::bigint AS parent_event_id,
    CASE WHEN e.event_type = 'execution.started' THEN x.parent_execution_id END
        AS parent_execution_id,
    e.created_at AT TIME ZONE 'UTC' AS created_at,
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
    NULL::double precision AS duration,
    CASE
        WHEN e.event_type = 'execution.started' THEN jsonb_build_object(
            'catalog_id', x.catalog_id::text,
            'execution_id', e.execution_id::text,
            'path', x.path,
            'workload', (e.body -> 'workload' -> 'inline')
        )
        WHEN e.event_type = 'command.issued' THEN (e.body -> 'bindings')
    END AS context,
    CASE
        WHEN e.event_type = 'reported'
            THEN jsonb_build_object(
                'status', coalesce(e.body -> 'body' ->> 'status', n.status),
                'context', (e.body -> 'body')
            )
        WHEN e.body -> 'output' -> 'ref' IS NOT NULL
            THEN jsonb_build_object(
                'status', n.status,
                'reference', (e.body -> 'output' -> 'ref')
            )
        WHEN e.body -> 'output' -> 'inline' IS NOT NULL
            THEN jsonb_build_object(
                'status', n.status,
                'context', jsonb_build_object(
                    'data', (e.body -> 'output' -> 'inline')
                )
            )
        WHEN jsonb_typeof(e.body -> 'error') = 'object'
            THEN jsonb_build_object(
                'status', n.status,
                'context', jsonb_build_object('error', (e.body -> 'error'))
            )
    END AS result,
    jsonb_strip_nulls(jsonb_build_object(
        'seq', e.seq,
        'command_id', e.body ->> 'command',
        'attempt', (e.body ->> 'attempt')::bigint,
        'worker_id', e.body ->> 'worker'
    )) AS meta,
    CASE
        WHEN jsonb_typeof(e.body -> 'error') = 'object' THEN e.body -> 'error' ->> 'message'
    END AS error,
    NULL::text AS stack_trace,
    NULL::integer AS current_index,
    NULL::text AS current_item,
    NULL::varchar AS distributed_state,
    NULL::varchar AS context_key,
    NULL::text AS context_value,
    NULL::jsonb AS trace_component,
    e.body ->> 'worker' AS worker_id,
    'default'::text AS tenant_id,
    'default'::text AS organization_id,
    e.execution_id::text AS stream_id,
    e.seq AS stream_version,
    e.execution_id::text AS aggregate_id,
    'execution'::text AS aggregate_type,
    NULL::text AS schema_name,
    1 AS schema_version,
    e.created_at AS event_time,
    e.created_at AS ingest_time,
    NULL::text AS producer,
    NULL::text AS causation_id,
    NULL::text AS correlation_id,
    NULL::text AS idempotency_key,
    (e.body -> 'output' -> 'ref') AS payload_ref,
    NULL::text AS envelope_checksum,
    (
        SELECT previous.event_id
        FROM noetl_compat.log AS previous
        WHERE previous.execution_id = e.execution_id AND previous.seq = e.seq - 1
    ) AS prev_event_id,
    (e.body ->> 'command')::bigint AS command_id,
    NULL::bigint AS stage_id,
    NULL::bigint AS frame_id
FROM noetl_compat.log AS e
LEFT JOIN noetl.execution AS x ON x.execution_id = e.execution_id
LEFT JOIN noetl_compat.event_name AS n ON n.event_type = e.event_type
-- The step of a command or of a run is in the event that issued or entered it, most often a few
-- events earlier.
LEFT JOIN LATERAL (
    SELECT i.node_name
    FROM noetl_compat.log AS i
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
) AS issued ON true;

CREATE OR REPLACE VIEW noetl_compat.execution AS
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
    x.started_at AS start_time,
    x.ended_at AS end_time,
    x.error ->> 'message' AS error,
    x.started_at AS created_at,
    x.last_event_at AS updated_at
FROM noetl.execution AS x
LEFT JOIN noetl_compat.log AS last ON last.execution_id = x.execution_id AND last.seq = x.seq
LEFT JOIN noetl_compat.event_name AS n ON n.event_type = last.event_type;

-- Commands that are open, from the queue, and those that have ended, from the log.
CREATE OR REPLACE VIEW noetl_compat.command AS
SELECT
    (e.body ->> 'command')::bigint AS command_id,
    e.event_id,
    e.execution_id,
    x.catalog_id,
    x.parent_execution_id,
    NULL::bigint AS parent_command_id,
    e.node_name AS step_name,
    e.body ->> 'tool' AS tool_kind,
    CASE open.status
        WHEN 'ISSUED' THEN 'PENDING'
        WHEN 'CLAIMED' THEN 'RUNNING'
        WHEN 'PARKED' THEN 'RUNNING'
        ELSE coalesce(n.status, 'CANCELLED')
    END AS status,
    coalesce(open.worker_id, claimed.worker_id) AS worker_id,
    claimed.created_at AS claimed_at,
    claimed.created_at AS started_at,
    ended.created_at AS completed_at,
    greatest(coalesce(open.attempt, claimed.attempt), 1) AS attempt,
    (e.body -> 'bindings') AS context,
    NULL::text AS context_key,
    NULL::text AS loop_event_id,
    (e.body #>> '{task,place,item,index}')::bigint AS iter_index,
    jsonb_build_object('pool', e.body ->> 'pool') AS meta,
    (ended.body -> 'output' -> 'inline') AS result,
    ended.body -> 'error' ->> 'message' AS error,
    coalesce(ended.event_id, claimed.event_id, e.event_id) AS latest_event_id,
    NULL::bigint AS prev_event_id,
    NULL::bigint AS stage_id,
    NULL::bigint AS frame_id,
    e.created_at,
    coalesce(ended.created_at, claimed.created_at, e.created_at) AS updated_at
FROM noetl_compat.log AS e
LEFT JOIN noetl.execution AS x ON x.execution_id = e.execution_id
LEFT JOIN noetl.command AS open
    ON open.execution_id = e.execution_id AND open.command_id = (e.body ->> 'command')::bigint
LEFT JOIN LATERAL (
    SELECT t.event_id, t.event_type, t.created_at, t.body
    FROM noetl_compat.log AS t
    WHERE
        open.command_id IS NULL
        AND t.execution_id = e.execution_id
        AND t.seq > e.seq
        AND t.event_type IN ('command.completed', 'command.failed', 'command.cancelled')
        AND t.body ->> 'command' = e.body ->> 'command'
    ORDER BY t.seq
    LIMIT 1
) AS ended ON true
LEFT JOIN LATERAL (
    SELECT
        c.event_id, c.created_at, c.body ->> 'worker' AS worker_id,
        (c.body ->> 'attempt')::bigint AS attempt
    FROM noetl_compat.log AS c
    WHERE
        open.status IS DISTINCT FROM 'ISSUED'
        AND c.execution_id = e.execution_id
        AND c.seq > e.seq
        AND c.event_type = 'command.claimed'
        AND c.body ->> 'command' = e.body ->> 'command'
    ORDER BY c.seq
    LIMIT 1
) AS claimed ON true
LEFT JOIN noetl_compat.event_name AS n ON n.event_type = ended.event_type
WHERE e.event_type = 'command.issued';

-- Messages that are not sent yet.
CREATE OR REPLACE VIEW noetl_compat.outbox AS
WITH unsent AS (
    SELECT *, noetl_compat.to_jsonb(message) AS payload FROM noetl.outbox
)
SELECT
    outbox_id,
    execution_id,
    (payload ->> 'event_id')::bigint AS event_id,
    CASE
        WHEN payload ->> 'type' = 'command_ready'
            THEN concat('noetl.commands.', payload ->> 'pool', '.', execution_id)
    END AS subject,
    payload,
    NULL::bytea AS payload_bytes,
    'json'::text AS payload_codec,
    CASE
        WHEN failed_at IS NOT NULL THEN 'FAILED'
        WHEN taken_until IS NOT NULL THEN 'IN_FLIGHT'
        ELSE 'PENDING'
    END AS status,
    attempts::integer AS attempts,
    coalesce(taken_until, created_at) AS available_at,
    NULL::timestamptz AS locked_at,
    NULL::timestamptz AS published_at,
    last_error,
    created_at,
    coalesce(failed_at, created_at) AS updated_at
FROM unsent;
