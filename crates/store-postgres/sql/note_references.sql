-- Stores the references to large payloads in events of at most $2 executions, from those that are older
-- than the list of references. Selects no row if all are stored, and otherwise the number of executions
-- that were looked at at the time $1: none while servers of a version without the list may append. A
-- reference is an object with the key `digest`; other objects that look like it do no harm, because
-- their digest has no payload.
WITH missing AS (
    SELECT
        noted_to,
        execution_id AS last,
        execution_id < noetl.snowflake_at(coalesce($1, clock_timestamp())) AS is_due
    FROM noetl.reference_start
    WHERE noted_to < execution_id
    FOR UPDATE
), next AS (
    SELECT execution.execution_id
    FROM missing
    CROSS JOIN LATERAL (
        SELECT execution_id
        FROM noetl.execution
        WHERE
            missing.is_due
            AND execution.execution_id > missing.noted_to
            AND execution.execution_id <= missing.last
        ORDER BY execution_id
        LIMIT $2
    ) AS execution
), stored AS (
    INSERT INTO noetl.payload_reference (execution_id, sha256)
    SELECT DISTINCT event.execution_id, decode(found.digest[1], 'hex')
    FROM next
    JOIN noetl.event ON event.execution_id = next.execution_id
    CROSS JOIN LATERAL
        regexp_matches(event.body::text, '"digest" *: *"([0-9a-f]{64})"', 'g') AS found (digest)
    WHERE event.body::text LIKE '%"digest"%'
    ON CONFLICT DO NOTHING
), moved AS (
    UPDATE noetl.reference_start
    SET noted_to = coalesce(
        (SELECT max(execution_id) FROM next HAVING count(*) = $2),
        reference_start.execution_id
    )
    FROM missing
    WHERE missing.is_due
)
SELECT CASE WHEN is_due THEN greatest((SELECT count(*) FROM next), 1) ELSE 0 END AS noted
FROM missing
