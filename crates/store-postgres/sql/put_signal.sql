-- Stores a signal for the index key $2, unless one was stored under the same deduplication key $3. Its
-- number is $1, or the next one after those of the signals of its index key that are not delivered;
-- $9 numbers are skipped.
-- Returns no row if the number or the deduplication key is taken.
INSERT INTO noetl.sent_signal (
    signal_id, index_key, once_key, state, execution_id, command_id, expires_at, body
)
SELECT
    greatest($1, coalesce((
        SELECT undelivered.signal_id + 1
        FROM noetl.sent_signal AS undelivered
        WHERE undelivered.index_key = $2 AND undelivered.state <> 'delivered'
        ORDER BY undelivered.signal_id DESC
        LIMIT 1
    ), $1)) + $9,
    $2, $3, $4, $5, $6, $7, $8::text::json
WHERE TRUE
ON CONFLICT DO NOTHING
RETURNING
    signal_id, index_key, once_key, state, execution_id, command_id, expires_at, body::text AS body
