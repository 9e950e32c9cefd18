-- Reads the database clock.
SELECT clock_timestamp()
