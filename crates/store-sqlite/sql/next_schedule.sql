-- When the first of all schedules is to be looked at.
SELECT min(next_at) FROM schedule WHERE next_at IS NOT NULL
