-- Records the holder of a machine number, unless another holder was seen so recently that it may be
-- alive and only have lost its session. The time while the database was down does not count.
INSERT INTO noetl.machine AS known (number, holder, seen_at)
VALUES ($1, $2, clock_timestamp())
ON CONFLICT (number) DO UPDATE SET holder = excluded.holder, seen_at = excluded.seen_at
WHERE known.holder = excluded.holder
   OR greatest(known.seen_at, pg_postmaster_start_time()) + $3::bigint * interval '1 microsecond'
      < clock_timestamp()
RETURNING TRUE
