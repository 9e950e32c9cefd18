-- Deletion of ended executions: tombstones, marks that protect from deletion, and references to large
-- payloads.

-- What remains of a deleted execution.
CREATE TABLE tombstone (
    -- find_tombstone.sql
    execution_id INTEGER PRIMARY KEY,
    deleted_at   INTEGER NOT NULL,
    -- 1 while other rows of the execution are left.
    is_pending   INTEGER NOT NULL CHECK (is_pending IN (0, 1)),
    body         TEXT    NOT NULL
) STRICT;

-- list_erasures.sql, list_erased_references.sql
CREATE INDEX tombstone_pending ON tombstone (execution_id) WHERE is_pending = 1;

CREATE TABLE keep_mark (
    -- find_keep_mark.sql, find_erasable.sql
    execution_id INTEGER PRIMARY KEY,
    body         TEXT    NOT NULL
) STRICT;

-- The large payloads that the events of an execution refer to.
CREATE TABLE payload_reference (
    execution_id INTEGER NOT NULL,
    sha256       BLOB    NOT NULL CHECK (length(sha256) = 32),
    -- list_erased_references.sql, erase_references.sql
    PRIMARY KEY (execution_id, sha256)
) STRICT, WITHOUT ROWID;

-- find_referred_payloads.sql, collect_payloads.sql
CREATE INDEX payload_reference_sha256 ON payload_reference (sha256);

-- Every reference in a stored event is an object with the keys `digest` and `size`. Other objects
-- that look like it do no harm: their digest has no payload.
INSERT OR IGNORE INTO payload_reference (execution_id, sha256)
SELECT event.execution_id, unhex(node.atom)
FROM event, json_tree(event.body) AS node
WHERE
    event.body LIKE '%"digest":"%'
    AND node.key = 'digest'
    AND node.type = 'text'
    AND length(node.atom) = 64
    AND unhex(node.atom) IS NOT NULL;

-- find_keep_reason.sql
CREATE INDEX execution_fork ON execution (fork_execution_id) WHERE fork_execution_id IS NOT NULL;

-- erase_index.sql
CREATE INDEX execution_index_execution ON execution_index (execution_id);
