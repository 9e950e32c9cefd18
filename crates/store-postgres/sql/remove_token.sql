-- Deletes the token with name $1.
DELETE FROM noetl.token WHERE name = $1
