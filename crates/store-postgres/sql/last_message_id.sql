-- The highest id that a message was ever given; zero before the first.
SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM noetl.outbox_outbox_id_seq
