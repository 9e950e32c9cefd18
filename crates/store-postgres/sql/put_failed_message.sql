-- Stores a failed message, replacing an earlier record of it.
INSERT INTO noetl.failed_message (
    subscription_id, once, order_key, failures, reason, arrival, retry_at, first_at, last_at
)
VALUES ($1, $2, $3, $4, $5, $6::text::json, $7, $8, $9)
ON CONFLICT (subscription_id, once) DO UPDATE SET
    order_key = excluded.order_key,
    failures = excluded.failures,
    reason = excluded.reason,
    arrival = excluded.arrival,
    retry_at = excluded.retry_at,
    last_at = excluded.last_at
