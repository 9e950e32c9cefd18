-- Deletes references to payloads, of executions $1 to digests $2.
DELETE FROM noetl.payload_reference AS reference
USING unnest($1::bigint[], $2::bytea[]) AS erased (execution_id, sha256)
WHERE reference.execution_id = erased.execution_id AND reference.sha256 = erased.sha256
