-- Archived playbooks: hidden from lists, not startable, kept for the history. All versions of a path
-- have the same value.
ALTER TABLE noetl.catalog ADD COLUMN archived_at timestamptz;
