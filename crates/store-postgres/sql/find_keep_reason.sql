-- Selects a fork of the execution $1, a running child and its running parent, if there are any. Ids
-- do not say which of two executions is older: servers make them by their own clocks.
SELECT
    (
        SELECT execution_id FROM noetl.execution WHERE fork_execution_id = $1 LIMIT 1
    ) AS fork,
    (
        SELECT execution_id FROM noetl.execution
        WHERE parent_execution_id = $1 AND status = 'RUNNING'
        LIMIT 1
    ) AS running_child,
    (
        SELECT parent.execution_id
        FROM noetl.execution AS child
        JOIN noetl.execution AS parent ON parent.execution_id = child.parent_execution_id
        WHERE child.execution_id = $1 AND parent.status = 'RUNNING'
    ) AS running_parent
