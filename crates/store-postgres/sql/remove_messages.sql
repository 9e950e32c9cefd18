-- These messages have been sent.
DELETE FROM noetl.outbox WHERE outbox_id = ANY ($1)
