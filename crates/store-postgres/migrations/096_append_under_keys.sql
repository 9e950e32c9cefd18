-- A start key and the execution that holds it.
CREATE TYPE noetl.kept_key AS (
    scope text,
    name text,
    execution_id bigint,
    request bytea,
    kept_until timestamptz
);

-- Starts executions under keys, in one call: writes the keys and all that the batch comes to. If somebody
-- holds one of the keys, nothing is written, and the answer is who holds which. Some keys that are no longer
-- kept are forgotten on the way.
CREATE FUNCTION noetl.append_under_keys(
    keys noetl.kept_key[],
    changed_executions noetl.changed_execution[],
    started_executions noetl.started_execution[],
    events noetl.appended_event[],
    children noetl.started_child[],
    opened_commands noetl.opened_command[],
    commands_are_new boolean,
    ended_commands noetl.ended_work[],
    set_timers noetl.set_timer[],
    ended_timers noetl.ended_work[],
    messages noetl.posted_message[],
    payloads noetl.kept_payload[],
    instant timestamptz,
    by_own_clock boolean
) RETURNS SETOF noetl.kept_key
LANGUAGE plpgsql AS $$
DECLARE
    -- How far the clock here is ahead.
    lag constant interval := CASE
        WHEN by_own_clock THEN clock_timestamp() - instant
        ELSE interval '0'
    END;
    written bigint;
BEGIN
    RETURN QUERY
    SELECT held.scope, held.name, held.execution_id, held.request, held.kept_until
    FROM unnest(keys) AS wanted
    JOIN noetl.start_key AS held ON held.scope = wanted.scope AND held.name = wanted.name
    WHERE held.kept_until > instant + lag;
    IF FOUND THEN
        RETURN;
    END IF;

    DELETE FROM noetl.start_key
    WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM noetl.start_key
        WHERE kept_until <= instant + lag
        ORDER BY kept_until
        LIMIT 100
        FOR UPDATE SKIP LOCKED
    ));

    -- Rivals write the same keys in the same order: the second waits for the first.
    INSERT INTO noetl.start_key (scope, name, execution_id, request, kept_until)
    SELECT
        wanted.scope, wanted.name, wanted.execution_id, wanted.request, wanted.kept_until + lag
    FROM unnest(keys) AS wanted
    ORDER BY wanted.scope, wanted.name
    ON CONFLICT (scope, name) DO UPDATE SET
        execution_id = excluded.execution_id,
        request = excluded.request,
        kept_until = excluded.kept_until
    WHERE start_key.kept_until <= instant + lag;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written <> cardinality(keys) THEN
        RAISE EXCEPTION 'another writer got in between' USING ERRCODE = 'serialization_failure';
    END IF;

    PERFORM noetl.append(
        changed_executions, started_executions, events, children, opened_commands,
        commands_are_new, ended_commands, set_timers, ended_timers, messages, payloads, instant,
        by_own_clock
    );
END
$$;
