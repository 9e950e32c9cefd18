-- Messages that came in and could not be dispatched, in the cluster's database.
CREATE TABLE noetl.failed_message (
    subscription_id bigint           NOT NULL,
    -- What no other message of the subscription has.
    once            text COLLATE "C" NOT NULL,
    order_key       text COLLATE "C",
    failures        bigint           NOT NULL CHECK (failures > 0),
    reason          text             NOT NULL,
    arrival         json             NOT NULL,
    -- When it may be tried again; nothing if it is dead.
    retry_at        timestamptz,
    first_at        timestamptz      NOT NULL,
    last_at         timestamptz      NOT NULL,
    -- find_failed_message.sql, list_failed_messages.sql, mark_failed_messages.sql
    PRIMARY KEY (subscription_id, once)
);

-- mark_failed_messages.sql
CREATE INDEX failed_message_line ON noetl.failed_message (subscription_id, order_key)
    WHERE order_key IS NOT NULL AND retry_at IS NOT NULL;

-- What one process does at a time.
CREATE TABLE noetl.turn (
    name   text COLLATE "C" PRIMARY KEY,
    holder text             NOT NULL,
    until  timestamptz      NOT NULL
);
