-- Prevents other publishers from taking messages until the end of the transaction, so that none
-- gets a later message of an execution while another gets an earlier one.
SELECT pg_advisory_xact_lock(hashtextextended('noetl.outbox', 0))
