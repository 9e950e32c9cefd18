-- Stores the state of the rate of limit ?1, and when it can grant again.
UPDATE slot_limit SET full_at = ?2, next_at = ?3 WHERE limit_name = ?1
