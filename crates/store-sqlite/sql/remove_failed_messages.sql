DELETE FROM failed_message
WHERE subscription_id = ?1 AND once IN (SELECT value FROM json_each(?2))
