-- The time by this server's clock.
SELECT clock_timestamp()
