-- When the earliest timer is due.
SELECT min(due_at) FROM noetl.timer
