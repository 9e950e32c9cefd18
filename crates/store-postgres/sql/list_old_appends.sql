-- Lists the append functions with a version below $1. Functions without a number in their name have
-- version 2.
SELECT oid::regprocedure::text
FROM pg_proc
WHERE
    pronamespace = 'noetl'::regnamespace
    AND proname ~ '^append(_under_keys)?(_v[0-9]+)?$'
    AND coalesce(substring(proname FROM '_v([0-9]+)$')::bigint, 2) < $1
