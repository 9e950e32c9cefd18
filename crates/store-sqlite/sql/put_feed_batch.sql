-- Gives events their place among all; ?1 is a JSON array of [execution id, number], written at ?2.
INSERT INTO feed_batch (places, created_at) VALUES (?1, ?2)
