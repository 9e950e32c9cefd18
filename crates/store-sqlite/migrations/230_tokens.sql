-- API tokens, and the audit trail.

CREATE TABLE IF NOT EXISTS token (
    token_id   INTEGER NOT NULL,
    -- list_tokens.sql, remove_token.sql
    name       TEXT    NOT NULL PRIMARY KEY,
    -- The SHA-256 of the secret.
    digest     BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    -- Owner, roles and creator, as JSON.
    body       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;

-- touch_token.sql
CREATE UNIQUE INDEX IF NOT EXISTS token_id ON token (token_id);

-- Entries 1, 2, 3, … without gaps; each digest covers the entry and the digest before it.
CREATE TABLE IF NOT EXISTS audit_trail (
    -- list_trail.sql, forget_trail.sql
    number  INTEGER PRIMARY KEY CHECK (number > 0),
    at      INTEGER NOT NULL,
    actor   TEXT,
    action  TEXT    NOT NULL,
    subject TEXT,
    source  TEXT,
    outcome TEXT    NOT NULL CHECK (outcome IN ('done', 'refused', 'failed')),
    detail  TEXT,
    -- In hexadecimal.
    digest  TEXT    NOT NULL
) STRICT;

-- At most one row: the place of the last entry, and of the last deleted one.
CREATE TABLE IF NOT EXISTS audit_head (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    before_number INTEGER NOT NULL,
    before_digest BLOB    NOT NULL,
    last_number   INTEGER NOT NULL,
    last_digest   BLOB    NOT NULL
) STRICT;
