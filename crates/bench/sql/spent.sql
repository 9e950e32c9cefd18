-- Sums up the time of appends in milliseconds: the whole call, and its inner statements.
SELECT statement, sum(total_exec_time) AS milliseconds
FROM (
    SELECT
        total_exec_time,
        CASE
            WHEN toplevel AND query LIKE '%noetl.append_v%' THEN 'the append, all of it'
            WHEN NOT toplevel THEN substring(query FROM '(?:INSERT INTO|UPDATE|DELETE FROM) noetl\.[a-z_]+')
        END AS statement
    FROM pg_stat_statements
) AS spent
WHERE statement IS NOT NULL
GROUP BY statement
ORDER BY milliseconds DESC
