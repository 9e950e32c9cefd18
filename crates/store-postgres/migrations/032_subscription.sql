-- Subscriptions, in the cluster's database: what has happened to each, and the row that follows.
CREATE TABLE noetl.subscription (
    -- find_subscription.sql, list_subscriptions.sql
    subscription_id bigint           PRIMARY KEY,
    path            text COLLATE "C" NOT NULL,
    catalog_id      bigint           NOT NULL,
    -- How many events it has.
    seq             bigint           NOT NULL CHECK (seq > 0),
    last_event      text             NOT NULL,
    updated_at      timestamptz      NOT NULL
);

-- find_subscription_at.sql
CREATE INDEX subscription_path ON noetl.subscription (path, subscription_id DESC);

-- A path has one that is not deactivated.
CREATE UNIQUE INDEX subscription_live ON noetl.subscription (path)
    WHERE last_event <> 'subscription.deactivated';

CREATE TABLE noetl.subscription_event (
    subscription_id bigint      NOT NULL,
    seq             bigint      NOT NULL CHECK (seq > 0),
    event_id        bigint      NOT NULL,
    event_type      text        NOT NULL,
    created_at      timestamptz NOT NULL,
    -- read_subscription_events.sql; refuses a second writer.
    PRIMARY KEY (subscription_id, seq)
);
