-- Lists at most $3 imported executions older than $1, newest first, with folded path $2, exact path
-- $5 (NULL for any) and one of the statuses $4.
SELECT listed.body::text AS body
FROM unnest($4::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT execution_id, body
    FROM noetl.imported_execution
    WHERE
        path_folded = $2
        AND status = wanted.status
        AND -execution_id > -$1::bigint
        AND execution_id < $1
        AND ($5::text IS NULL OR path = $5)
    ORDER BY -execution_id
    LIMIT $3
) AS listed
ORDER BY listed.execution_id DESC
LIMIT $3
