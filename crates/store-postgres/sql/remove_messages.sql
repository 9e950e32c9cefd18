-- Deletes sent messages. The commit does not wait for the disk: a message whose deletion is lost is
-- sent again.
DELETE FROM noetl.outbox
WHERE outbox_id = ANY ($1) AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
RETURNING outbox_id
