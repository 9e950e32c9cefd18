-- Adds a feed batch of events written at ?2; ?1 is a JSON array of [execution id, seq].
INSERT INTO feed_batch (places, created_at) VALUES (?1, ?2)
