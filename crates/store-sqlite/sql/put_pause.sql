-- Stores a pause of kind ?1. A pause that is stored keeps its caller and time unless it was ending.
INSERT INTO pause (kind, name, progress, actor, reason, since, resumed_by, resume_reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (kind, name) DO UPDATE SET
    progress = excluded.progress,
    resumed_by = excluded.resumed_by,
    resume_reason = excluded.resume_reason,
    actor = CASE
        WHEN pause.progress = 'resuming' AND excluded.progress <> 'resuming' THEN excluded.actor
        ELSE pause.actor
    END,
    reason = CASE
        WHEN pause.progress = 'resuming' AND excluded.progress <> 'resuming' THEN excluded.reason
        ELSE pause.reason
    END,
    since = CASE
        WHEN pause.progress = 'resuming' AND excluded.progress <> 'resuming' THEN excluded.since
        ELSE pause.since
    END
RETURNING kind, name, progress, actor, reason, since, resumed_by, resume_reason
