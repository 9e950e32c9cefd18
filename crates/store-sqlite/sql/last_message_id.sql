-- Selects the highest message id ever assigned; zero if there is none.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0) AS outbox_id
