-- API tokens, and the audit trail.

CREATE TABLE IF NOT EXISTS noetl.token (
    -- touch_token.sql
    token_id   bigint           NOT NULL UNIQUE,
    -- list_tokens.sql, remove_token.sql
    name       text COLLATE "C" NOT NULL PRIMARY KEY,
    -- The SHA-256 of the secret.
    digest     bytea            NOT NULL UNIQUE CHECK (length(digest) = 32),
    -- Owner, roles and creator, as JSON.
    body       text             NOT NULL,
    created_at timestamptz      NOT NULL,
    expires_at timestamptz,
    used_at    timestamptz
);

-- Entries 1, 2, 3, … without gaps; each digest covers the entry and the digest before it.
CREATE TABLE IF NOT EXISTS noetl.audit_trail (
    -- list_trail.sql, forget_trail.sql
    number  bigint      PRIMARY KEY CHECK (number > 0),
    at      timestamptz NOT NULL,
    actor   text,
    action  text        NOT NULL,
    subject text,
    source  text,
    outcome text        NOT NULL CHECK (outcome IN ('done', 'refused', 'failed')),
    detail  text,
    -- In hexadecimal.
    digest  text        NOT NULL
);

-- At most one row: the place of the last entry, and of the last deleted one.
CREATE TABLE IF NOT EXISTS noetl.audit_head (
    id            integer PRIMARY KEY CHECK (id = 1),
    before_number bigint  NOT NULL,
    before_digest bytea   NOT NULL,
    last_number   bigint  NOT NULL,
    last_digest   bytea   NOT NULL
);
