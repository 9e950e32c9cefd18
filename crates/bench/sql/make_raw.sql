-- Creates a table for dummy rows.
CREATE TABLE public.raw_event (
    execution_id bigint NOT NULL,
    seq bigint NOT NULL,
    event_id bigint NOT NULL,
    event_type text NOT NULL,
    node_name text,
    created_at bigint NOT NULL,
    body text NOT NULL,
    prev_digest bytea,
    PRIMARY KEY (execution_id, seq)
)
