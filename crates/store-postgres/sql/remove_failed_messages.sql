DELETE FROM noetl.failed_message
WHERE subscription_id = $1 AND once = ANY($2)
