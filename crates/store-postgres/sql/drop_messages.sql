-- Dead messages of these are gone for good.
DELETE FROM noetl.outbox WHERE outbox_id = ANY ($1) AND dead_at IS NOT NULL
