-- Selects the failed messages of a subscription that are named in ?2 or wait in one of the lines
-- ?3.
SELECT once, order_key, failures, retry_at, first_at
FROM failed_message
WHERE subscription_id = ?1 AND once IN (SELECT value FROM json_each(?2))
UNION
SELECT once, order_key, failures, retry_at, first_at
FROM failed_message
WHERE
    subscription_id = ?1
    AND order_key IN (SELECT value FROM json_each(?3))
    AND order_key IS NOT NULL
    AND retry_at IS NOT NULL
