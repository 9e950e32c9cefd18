-- Marks the pause of kind $1 that began at $3 as applied to all executions.
UPDATE noetl.pause SET progress = 'paused'
WHERE kind = $1 AND name = $2 AND since = $3 AND progress = 'pausing'
