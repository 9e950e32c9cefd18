-- Generates a unique holder name for a server.
SELECT gen_random_uuid()::text
