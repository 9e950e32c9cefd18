-- Stores a pause of kind ?1. A pause that is stored keeps its caller and time unless it was ending.
INSERT INTO pause (kind, name, progress, actor, reason, since)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (kind, name) DO UPDATE SET
    progress = excluded.progress,
    actor = CASE
        WHEN pause.progress = 'resuming' AND excluded.progress = 'paused' THEN excluded.actor
        ELSE pause.actor
    END,
    reason = CASE
        WHEN pause.progress = 'resuming' AND excluded.progress = 'paused' THEN excluded.reason
        ELSE pause.reason
    END,
    since = CASE
        WHEN pause.progress = 'resuming' AND excluded.progress = 'paused' THEN excluded.since
        ELSE pause.since
    END
RETURNING kind, name, progress, actor, reason, since
