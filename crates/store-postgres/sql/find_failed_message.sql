SELECT once, order_key, failures, reason, arrival::text AS arrival, retry_at, first_at, last_at
FROM noetl.failed_message
WHERE subscription_id = $1 AND once = $2
