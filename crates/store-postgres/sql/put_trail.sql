-- Appends entries to the audit trail: number $1, time $2, actor $3, action $4, subject $5, source $6,
-- outcome $7, detail $8, digest $9.
INSERT INTO noetl.audit_trail (number, at, actor, action, subject, source, outcome, detail, digest)
SELECT number, at, actor, action, subject, source, outcome, detail, digest
FROM unnest(
    $1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::text[]
) AS new (number, at, actor, action, subject, source, outcome, detail, digest)
