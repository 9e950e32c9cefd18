-- All events in one order. A batch's place is the number of the transaction that wrote it, so it is
-- settled once no transaction with a smaller number runs any more, in whatever order they commit.
CREATE TABLE noetl.feed_batch (
    -- read_feed.sql
    position   bigint      PRIMARY KEY,
    -- Its events, in order: execution and number of each.
    executions bigint[]    NOT NULL,
    seqs       bigint[]    NOT NULL,
    created_at timestamptz NOT NULL
);

-- find_feed_instant.sql, drop_feed_batches.sql
CREATE INDEX feed_batch_created ON noetl.feed_batch (created_at);

-- What is added to a transaction's number. A database that is restored elsewhere counts its
-- transactions anew; the places of its batches must not.
CREATE TABLE noetl.feed_shift (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    shift    bigint  NOT NULL
);
INSERT INTO noetl.feed_shift (shift) VALUES (0);

-- The place of a batch that this transaction writes.
CREATE FUNCTION noetl.feed_position() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN pg_current_xact_id()::text::bigint + (SELECT shift FROM noetl.feed_shift);

-- Batches before this place are all that there will ever be.
CREATE FUNCTION noetl.feed_horizon() RETURNS bigint
LANGUAGE sql STABLE
RETURN pg_snapshot_xmin(pg_current_snapshot())::text::bigint + (SELECT shift FROM noetl.feed_shift);

-- Feeds with a name, in the cluster's database.
CREATE TABLE noetl.feed (
    name       text COLLATE "C" PRIMARY KEY,
    filter     json             NOT NULL,
    cursor     text             NOT NULL,
    created_at timestamptz      NOT NULL,
    moved_at   timestamptz      NOT NULL
);
