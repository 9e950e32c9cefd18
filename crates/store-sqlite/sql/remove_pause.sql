-- Deletes the pause of kind ?1.
DELETE FROM pause WHERE kind = ?1 AND name = ?2
