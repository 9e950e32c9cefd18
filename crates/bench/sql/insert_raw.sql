-- Inserts one dummy row.
INSERT INTO public.raw_event (execution_id, seq, event_id, event_type, created_at, body)
VALUES (0, $1, $1, '', 0, $2)
