-- Writes all rows of a batch, and returns the database time. If a start key is held, writes nothing
-- and returns `written` = false. The arguments are in the order of functions/append.sql.
SELECT
    noetl.append_v5(
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16
    ) AS written,
    clock_timestamp() AS now
