-- An execution may stand below another of which no command waits for it.
ALTER TABLE noetl.execution DROP CONSTRAINT execution_check;

-- A partition that was made apart and attached has the constraint as its own.
DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'noetl.execution'::regclass LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS execution_check', part);
    END LOOP;
END $$;
