-- The tables of the schema, their partitions left out.
SELECT relname::text
FROM pg_catalog.pg_class
WHERE relnamespace = 'noetl'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
ORDER BY relname
