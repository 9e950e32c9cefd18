-- Each statement parses the checks of the tables it writes anew, which is a fifth of what it takes to
-- append one step. The rows are made from types that have no other values, and `noetl verify` compares
-- them with the log.
DO $$
DECLARE
    check_of record;
BEGIN
    FOR check_of IN
        SELECT conrelid::regclass AS table_name, conname AS name
        FROM pg_constraint
        WHERE
            contype = 'c'
            AND coninhcount = 0
            AND conrelid IN (
                'noetl.execution'::regclass, 'noetl.event'::regclass, 'noetl.command'::regclass
            )
    LOOP
        EXECUTE format(
            'ALTER TABLE %s DROP CONSTRAINT %I', check_of.table_name, check_of.name
        );
    END LOOP;
END
$$;
