-- These messages have been sent.
-- Nobody waits for the disk: what is forgotten is done again.
DELETE FROM noetl.outbox
WHERE outbox_id = ANY ($1) AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
RETURNING outbox_id
