-- Old events whose references to large payloads are stored in batches.

-- note_references.sql: executions up to `noted_to` have all their references; once it has reached
-- `execution_id`, all have.
ALTER TABLE noetl.reference_start ADD COLUMN noted_to bigint NOT NULL DEFAULT 0;
