-- Selects the first $1 pauses.
SELECT kind, name, progress, actor, reason, since
FROM noetl.pause
ORDER BY kind, name
LIMIT $1
