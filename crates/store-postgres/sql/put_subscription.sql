-- Writes the first event of a subscription, or the next event of one at seq $4 - 1.
WITH first AS (
    INSERT INTO noetl.subscription (subscription_id, path, catalog_id, seq, last_event, updated_at)
    SELECT $1::bigint, $2::text, $3::bigint, $4::bigint, $5::text, $6::timestamptz
    WHERE $4::bigint = 1
    ON CONFLICT DO NOTHING
    RETURNING subscription_id
),
next AS (
    UPDATE noetl.subscription
    SET seq = $4, last_event = $5, updated_at = $6
    WHERE subscription_id = $1 AND seq = $4::bigint - 1
    RETURNING subscription_id
)
INSERT INTO noetl.subscription_event (subscription_id, seq, event_id, event_type, created_at)
SELECT subscription_id, $4::bigint, $7::bigint, $5::text, $6::timestamptz
FROM (SELECT subscription_id FROM first UNION ALL SELECT subscription_id FROM next) AS written
