-- Updates a schedule at seq ?2 - 1.
UPDATE schedule
SET seq = ?2, standing = ?3, playbook = ?4, timing = ?5, next_at = ?6, is_waiting = ?7, updated_at = ?8
WHERE path = ?1 AND seq = ?2 - 1
