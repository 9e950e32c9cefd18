-- Sets the timeouts of a maintenance transaction: statements ($1) and locks ($2), in milliseconds.
SELECT
    set_config('statement_timeout', $1, true),
    set_config('lock_timeout', $2, true)
