-- Sets up a session. Plans each statement once, not for every set of arguments, and by its indexes: how
-- full a table is that fills and empties within seconds is never known when a plan is made.
--
-- Nobody waits for a statement for longer than its deadline ($1, in milliseconds), so the database gives
-- it up then; and a session whose client has vanished keeps no locks ($2, in milliseconds).
SELECT
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('enable_seqscan', 'off', false),
    set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    -- What a disabled way is said to cost would have every statement compiled.
    set_config('jit', 'off', false),
    set_config('statement_timeout', $1, false),
    set_config('idle_in_transaction_session_timeout', $2, false),
    set_config('tcp_user_timeout', $2, false),
    set_config('tcp_keepalives_idle', '30', false),
    set_config('tcp_keepalives_interval', '10', false),
    set_config('tcp_keepalives_count', '3', false)
