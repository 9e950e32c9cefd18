-- Selects the failed messages of a subscription that are named in $2 or wait in one of the lines
-- $3.
SELECT once, order_key, failures, retry_at, first_at
FROM noetl.failed_message
WHERE subscription_id = $1 AND once = ANY($2)
UNION
SELECT once, order_key, failures, retry_at, first_at
FROM noetl.failed_message
WHERE
    subscription_id = $1
    AND order_key = ANY($3)
    AND order_key IS NOT NULL
    AND retry_at IS NOT NULL
