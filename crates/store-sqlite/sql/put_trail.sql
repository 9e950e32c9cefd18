-- Appends entries to the audit trail; ?1 is a JSON array of [number, time, actor, action, subject,
-- source, outcome, detail, digest].
INSERT INTO audit_trail (number, at, actor, action, subject, source, outcome, detail, digest)
SELECT
    value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, value ->> 8
FROM json_each(?1)
