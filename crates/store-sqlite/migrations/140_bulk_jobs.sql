-- Jobs that act on many executions.
CREATE TABLE IF NOT EXISTS bulk_job (
    -- find_bulk_job.sql, list_bulk_jobs.sql
    job_id      INTEGER PRIMARY KEY,
    -- The number of changes: of two processes that change a job at once, one comes too late.
    seq         INTEGER NOT NULL CHECK (seq > 0),
    is_open     INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    -- find_bulk_job_by_key.sql; a key creates one job.
    request_key TEXT    UNIQUE,
    ended_at    INTEGER,
    body        TEXT    NOT NULL,
    CHECK (is_open = (ended_at IS NULL))
) STRICT;

-- open_bulk_jobs.sql
CREATE INDEX IF NOT EXISTS bulk_job_open ON bulk_job (job_id) WHERE is_open;

-- forget_bulk_jobs.sql
CREATE INDEX IF NOT EXISTS bulk_job_ended ON bulk_job (ended_at) WHERE ended_at IS NOT NULL;

-- The results of a job, one for each of its executions.
CREATE TABLE IF NOT EXISTS bulk_item (
    job_id               INTEGER NOT NULL REFERENCES bulk_job (job_id) ON DELETE CASCADE,
    execution_id         INTEGER NOT NULL,
    outcome              TEXT    NOT NULL CHECK (outcome IN ('done', 'unchanged', 'failed')),
    -- The execution that a retry or a rerun has started.
    started_execution_id INTEGER,
    message              TEXT,
    -- list_bulk_items.sql
    PRIMARY KEY (job_id, execution_id)
) STRICT, WITHOUT ROWID;

-- list_bulk_items_by_outcome.sql
CREATE INDEX IF NOT EXISTS bulk_item_outcome ON bulk_item (job_id, outcome, execution_id);
