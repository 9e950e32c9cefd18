-- The state of the delivery of a feed: how often it failed in a row, why, and when it is tried again;
-- with failures and no instant it is dead.
ALTER TABLE feed ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed ADD COLUMN failure  TEXT;
ALTER TABLE feed ADD COLUMN retry_at INTEGER;
