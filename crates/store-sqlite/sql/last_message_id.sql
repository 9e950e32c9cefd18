-- The highest id that a message was ever given; zero before the first.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0)
