-- Messages that were being sent at ?1 are nobody's from then on.
UPDATE outbox
SET taken_until = ?1
WHERE taken_until > ?1 AND failed_at IS NULL
