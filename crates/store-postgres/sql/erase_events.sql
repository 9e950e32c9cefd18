-- Deletes at most $2 events of the execution $1, with their places.
WITH gone AS (
    DELETE FROM noetl.event
    WHERE
        execution_id = $1
        AND seq = ANY (
            ARRAY(SELECT seq FROM noetl.event WHERE execution_id = $1 ORDER BY seq LIMIT $2)
        )
    RETURNING event_id
)
DELETE FROM noetl.event_place WHERE event_id = ANY (ARRAY(SELECT event_id FROM gone))
