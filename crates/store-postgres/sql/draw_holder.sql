-- A name that no other server has.
SELECT gen_random_uuid()::text
