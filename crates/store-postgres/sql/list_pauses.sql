-- Selects the first $3 pauses after kind $1 and name $2.
SELECT kind, name, progress, actor, reason, since, resumed_by, resume_reason
FROM noetl.pause
WHERE (kind, name) > ($1, $2)
ORDER BY kind, name
LIMIT $3
