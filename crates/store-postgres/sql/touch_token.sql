-- Records the last use of token $1.
UPDATE noetl.token SET used_at = $2 WHERE token_id = $1 AND (used_at IS NULL OR used_at < $2)
