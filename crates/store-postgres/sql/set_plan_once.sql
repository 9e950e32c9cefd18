-- Plans each statement once, not for every set of arguments.
SET plan_cache_mode = force_generic_plan
