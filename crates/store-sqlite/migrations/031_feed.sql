-- All events in one order: one process writes, so batches become visible in the order of their
-- places.
CREATE TABLE feed_batch (
    -- read_feed.sql
    position   INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Its events, in order: a JSON array of [execution id, number].
    places     TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- find_feed_instant.sql
CREATE INDEX feed_batch_created ON feed_batch (created_at);

-- Feeds with a name.
CREATE TABLE feed (
    name       TEXT    PRIMARY KEY,
    filter     TEXT    NOT NULL,
    cursor     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    moved_at   INTEGER NOT NULL
) STRICT;
