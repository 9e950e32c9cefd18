-- Moves the cursor of feed ?1 from ?2 to ?3, at ?4.
UPDATE feed SET cursor = ?3, moved_at = ?4 WHERE name = ?1 AND cursor = ?2
