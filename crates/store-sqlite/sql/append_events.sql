-- Inserts the events of a whole batch; ?1 is a JSON array of rows. The unique key on (execution_id,
-- seq) rejects a second writer.
INSERT INTO event (
    event_id, execution_id, seq, event_type, node_name, created_at, body, prev_digest
)
SELECT
    value ->> 'event_id',
    value ->> 'execution_id',
    value ->> 'seq',
    value ->> 'event_type',
    value ->> 'node_name',
    value ->> 'created_at',
    value -> 'body',
    unhex(value ->> 'prev_digest')
FROM json_each(?1)
