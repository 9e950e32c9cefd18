-- Deletes the token with name ?1.
DELETE FROM token WHERE name = ?1
