-- Selects the highest message id ever assigned; zero if there is none.
SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS outbox_id FROM noetl.outbox_outbox_id_seq
