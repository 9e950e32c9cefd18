-- Deletes a credential.
DELETE FROM noetl.credential WHERE credential_id = $1
