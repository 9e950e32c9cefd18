-- Selects at most ?2 payloads after the digest ?1 whose content is not in the database.
SELECT digest FROM payload WHERE digest > ?1 AND length(body) = 0 ORDER BY digest LIMIT +?2
