-- Releases payloads at ?1; ?2 is a JSON array of their digests. collect_payloads.sql deletes them.
UPDATE payload
SET loose_since = ?1
WHERE digest IN (SELECT unhex(value) FROM json_each(?2)) AND loose_since IS NULL
