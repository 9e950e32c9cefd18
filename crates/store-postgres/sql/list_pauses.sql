-- Selects the first $1 pauses.
SELECT kind, name, progress, actor, reason, since, resumed_by, resume_reason
FROM noetl.pause
ORDER BY kind, name
LIMIT $1
