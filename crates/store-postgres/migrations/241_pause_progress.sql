-- Pauses that are not applied to all executions yet, and the caller of a resumption.
ALTER TABLE noetl.pause
    ADD COLUMN IF NOT EXISTS resumed_by text,
    ADD COLUMN IF NOT EXISTS resume_reason text,
    DROP CONSTRAINT IF EXISTS pause_progress_check,
    ADD CONSTRAINT pause_progress_check CHECK (progress IN ('pausing', 'paused', 'resuming'));
