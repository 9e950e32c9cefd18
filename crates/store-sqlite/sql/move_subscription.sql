-- Updates a subscription at seq ?4 - 1, unless its path has another that is not deactivated.
UPDATE OR IGNORE subscription
SET seq = ?4, last_event = ?5, updated_at = ?6
WHERE subscription_id = ?1 AND path = ?2 AND catalog_id = ?3 AND seq = ?4 - 1
