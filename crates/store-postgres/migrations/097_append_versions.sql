-- The append function is created at start-up, with its version in its name. The version that takes an
-- array for each column has no caller left.
DROP FUNCTION noetl.append(
    bigint[], bigint[], bigint[], text[], text[], timestamptz[], text[], bytea[], bigint[],
    boolean[], bigint[], text[], text[], bigint[], text[], bigint[], timestamptz[], timestamptz[],
    timestamptz[], bigint[], bigint[], text[], bigint[], bigint[], bigint[], bigint[], bigint[],
    bigint[], bigint[], text[], bytea[], bigint[], bigint[], bigint[], bytea[], bigint[],
    bigint[], bigint[], bigint[], bigint[], text[], text[], bigint[], text[], text[],
    timestamptz[], boolean, bigint[], bigint[], bigint[], bigint[], timestamptz[], bigint[],
    bigint[], bigint[], text[], bigint[], bytea[], bytea[], timestamptz, boolean
);
