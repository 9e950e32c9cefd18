-- Deletes a credential.
DELETE FROM credential WHERE credential_id = ?1
