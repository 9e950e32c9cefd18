-- Labels of executions as a JSON object, and the actor that requested the start.
ALTER TABLE noetl.execution ADD COLUMN IF NOT EXISTS labels json;
ALTER TABLE noetl.execution ADD COLUMN IF NOT EXISTS actor text;

-- A new execution as an argument of the append function. Servers of the previous version use
-- noetl.started_execution.
CREATE TYPE noetl.new_execution AS (
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
    labels text,
    actor text,
    reached noetl.progress
);
