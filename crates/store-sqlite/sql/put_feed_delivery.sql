-- Stores the delivery state of feed ?1.
UPDATE feed SET failures = ?2, failure = ?3, retry_at = ?4 WHERE name = ?1
