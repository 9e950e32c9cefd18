-- Keeps other publishers from taking messages until the transaction ends, so that none is given an
-- execution's later message while another is being given an earlier one.
SELECT pg_advisory_xact_lock(hashtextextended('noetl.outbox', 0))
