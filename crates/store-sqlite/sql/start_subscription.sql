-- Inserts the first row of a subscription, unless its path has one that is not deactivated.
INSERT INTO subscription (subscription_id, path, catalog_id, seq, last_event, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING
