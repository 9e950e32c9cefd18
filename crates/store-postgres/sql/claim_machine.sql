-- Writes down who has a machine number now, unless another was heard of so lately that it may live and
-- only have lost its session. While the database was down nobody could be heard.
INSERT INTO noetl.machine AS known (number, holder, seen_at)
VALUES ($1, $2, clock_timestamp())
ON CONFLICT (number) DO UPDATE SET holder = excluded.holder, seen_at = excluded.seen_at
WHERE known.holder = excluded.holder
   OR greatest(known.seen_at, pg_postmaster_start_time()) + $3::bigint * interval '1 microsecond'
      < clock_timestamp()
RETURNING TRUE
