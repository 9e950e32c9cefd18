-- Lets the statements of this transaction take longer ($1, in milliseconds), and wait for locks for so long
-- at most ($2, in milliseconds).
SELECT
    set_config('statement_timeout', $1, true),
    set_config('lock_timeout', $2, true)
