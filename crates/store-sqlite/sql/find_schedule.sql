-- Selects the schedule at path ?1.
SELECT path, seq, standing, playbook, timing, next_at, updated_at
FROM schedule
WHERE path = ?1
