-- Drops the table of an earlier measurement.
DROP TABLE IF EXISTS public.raw_event
