-- Plans each statement once, not for every set of arguments, and by its indexes: how full a table is
-- that fills and empties within seconds is never known when a plan is made.
SELECT
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('enable_seqscan', 'off', false),
    set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    -- What a disabled way is said to cost would have every statement compiled.
    set_config('jit', 'off', false)
