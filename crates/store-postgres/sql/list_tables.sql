-- Lists the tables of the schema, without partitions.
SELECT relname::text AS name
FROM pg_catalog.pg_class
WHERE relnamespace = 'noetl'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
ORDER BY relname
