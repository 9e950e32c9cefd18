-- Messages that came in and could not be dispatched.
CREATE TABLE failed_message (
    subscription_id INTEGER NOT NULL,
    -- What no other message of the subscription has.
    once            TEXT    NOT NULL,
    order_key       TEXT,
    failures        INTEGER NOT NULL CHECK (failures > 0),
    reason          TEXT    NOT NULL,
    arrival         TEXT    NOT NULL,
    -- When it may be tried again; nothing if it is dead.
    retry_at        INTEGER,
    first_at        INTEGER NOT NULL,
    last_at         INTEGER NOT NULL,
    -- find_failed_message.sql, list_failed_messages.sql, mark_failed_messages.sql
    PRIMARY KEY (subscription_id, once)
) STRICT, WITHOUT ROWID;

-- mark_failed_messages.sql
CREATE INDEX failed_message_line ON failed_message (subscription_id, order_key)
    WHERE order_key IS NOT NULL AND retry_at IS NOT NULL;

-- What one process does at a time.
CREATE TABLE turn (
    name   TEXT    PRIMARY KEY,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
