-- What an earlier measurement has left.
DROP TABLE IF EXISTS public.raw_event
