-- Deletes the dead messages among $1.
DELETE FROM noetl.outbox WHERE outbox_id = ANY ($1) AND dead_at IS NOT NULL
