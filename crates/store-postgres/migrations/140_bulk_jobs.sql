-- Jobs that act on many executions, in the cluster's database.
CREATE TABLE IF NOT EXISTS noetl.bulk_job (
    -- find_bulk_job.sql, list_bulk_jobs.sql
    job_id      bigint           PRIMARY KEY,
    -- The number of changes: of two processes that change a job at once, one comes too late.
    seq         bigint           NOT NULL CHECK (seq > 0),
    is_open     boolean          NOT NULL,
    -- find_bulk_job_by_key.sql; a key creates one job.
    request_key text COLLATE "C" UNIQUE,
    ended_at    timestamptz,
    body        json             NOT NULL,
    CHECK (is_open = (ended_at IS NULL))
);

-- open_bulk_jobs.sql
CREATE INDEX IF NOT EXISTS bulk_job_open ON noetl.bulk_job (job_id) WHERE is_open;

-- forget_bulk_jobs.sql
CREATE INDEX IF NOT EXISTS bulk_job_ended ON noetl.bulk_job (ended_at) WHERE ended_at IS NOT NULL;

-- The results of a job, one for each of its executions.
CREATE TABLE IF NOT EXISTS noetl.bulk_item (
    job_id               bigint NOT NULL REFERENCES noetl.bulk_job (job_id) ON DELETE CASCADE,
    execution_id         bigint NOT NULL,
    outcome              text   NOT NULL CHECK (outcome IN ('done', 'unchanged', 'failed')),
    -- The execution that a retry or a rerun has started.
    started_execution_id bigint,
    message              text,
    -- list_bulk_items.sql
    PRIMARY KEY (job_id, execution_id)
);

-- list_bulk_items_by_outcome.sql
CREATE INDEX IF NOT EXISTS bulk_item_outcome ON noetl.bulk_item (job_id, outcome, execution_id);
