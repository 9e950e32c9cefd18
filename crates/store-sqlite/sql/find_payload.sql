-- Selects a payload by its digest.
SELECT body FROM payload WHERE digest = ?1
