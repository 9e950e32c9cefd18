-- Selects a fork of an execution, a running child and its running parent, if there are any.
SELECT
    (SELECT execution_id FROM execution WHERE fork_execution_id = ?1 LIMIT 1) AS fork,
    (
        SELECT execution_id FROM execution
        WHERE parent_execution_id = ?1 AND status = 'RUNNING'
        LIMIT 1
    ) AS running_child,
    (
        SELECT parent.execution_id
        FROM execution AS child
        CROSS JOIN execution AS parent ON parent.execution_id = child.parent_execution_id
        WHERE child.execution_id = ?1 AND parent.status = 'RUNNING'
    ) AS running_parent
