-- Sets up a session. Each statement is planned once, with a generic plan that uses indexes: the
-- statistics of a table that fills and empties within seconds are never right when a plan is made.
--
-- The database cancels a statement at its deadline ($1, in milliseconds), because no client waits
-- longer, and ends the session of a vanished client, so that its locks are released ($2, in
-- milliseconds).
SELECT
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('enable_seqscan', 'off', false),
    set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    -- The penalty cost of disabled plan types would trigger JIT compilation of every statement.
    set_config('jit', 'off', false),
    set_config('statement_timeout', $1, false),
    set_config('idle_in_transaction_session_timeout', $2, false),
    set_config('tcp_user_timeout', $2, false),
    set_config('tcp_keepalives_idle', '30', false),
    set_config('tcp_keepalives_interval', '10', false),
    set_config('tcp_keepalives_count', '3', false)
