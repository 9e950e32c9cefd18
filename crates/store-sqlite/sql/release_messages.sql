-- Makes messages that were being sent at ?1 available to other takers.
UPDATE outbox
SET taken_until = ?1
WHERE taken_until > ?1 AND failed_at IS NULL
