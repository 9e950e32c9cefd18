-- Moves the cursor of feed $1 from $2 to $3, now ($4, or the database clock).
UPDATE noetl.feed
SET cursor = $3, moved_at = coalesce($4, statement_timestamp())
WHERE name = $1 AND cursor = $2
