-- Subscriptions: what has happened to each, and the row that follows.
CREATE TABLE subscription (
    -- find_subscription.sql, list_subscriptions.sql
    subscription_id INTEGER PRIMARY KEY,
    path            TEXT    NOT NULL,
    catalog_id      INTEGER NOT NULL,
    -- How many events it has.
    seq             INTEGER NOT NULL CHECK (seq > 0),
    last_event      TEXT    NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;

-- find_subscription_at.sql
CREATE INDEX subscription_path ON subscription (path, subscription_id);

-- A path has one that is not deactivated.
CREATE UNIQUE INDEX subscription_live ON subscription (path)
    WHERE last_event <> 'subscription.deactivated';

CREATE TABLE subscription_event (
    subscription_id INTEGER NOT NULL,
    seq             INTEGER NOT NULL CHECK (seq > 0),
    event_id        INTEGER NOT NULL,
    event_type      TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    -- read_subscription_events.sql; refuses a second writer.
    PRIMARY KEY (subscription_id, seq)
) STRICT, WITHOUT ROWID;
