-- Inserts the first row of a schedule, unless it exists.
INSERT INTO schedule (path, seq, standing, playbook, timing, next_at, is_waiting, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT DO NOTHING
