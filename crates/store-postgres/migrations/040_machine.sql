-- Who has which machine number, and when it was last heard of. What keeps others from a number is a
-- lock, which ends with its session; this remembers holders that live on without one.
CREATE TABLE noetl.machine (
    number  integer     PRIMARY KEY,
    -- Drawn anew by each server.
    holder  text        NOT NULL,
    seen_at timestamptz NOT NULL
) WITH (fillfactor = 50);
