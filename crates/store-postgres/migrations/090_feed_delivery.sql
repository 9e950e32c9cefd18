-- The state of the delivery of a feed: how often it failed in a row, why, and when it is tried again;
-- with failures and no instant it is dead.
ALTER TABLE noetl.feed
    ADD COLUMN failures bigint NOT NULL DEFAULT 0,
    ADD COLUMN failure  text,
    ADD COLUMN retry_at timestamptz;
