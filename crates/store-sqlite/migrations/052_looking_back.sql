-- Replays as far as some event, to go on from: a cache, whose rows may be deleted at any time.
CREATE TABLE replay_fold (
    execution_id  INTEGER NOT NULL,
    projection    TEXT    NOT NULL,
    seq           INTEGER NOT NULL CHECK (seq > 0),
    -- The largest id and the latest time among the events up to there.
    last_event_id INTEGER NOT NULL,
    last_event_at INTEGER NOT NULL,
    shape         INTEGER NOT NULL CHECK (shape >= 0),
    body          BLOB    NOT NULL,
    -- find_replay_fold.sql
    PRIMARY KEY (execution_id, projection, seq)
) STRICT;
