-- Stores a limit with the amount ?2; the newest playbook version (?4) that defines it counts.
INSERT INTO slot_limit (limit_name, amount, is_rate, defined_by, full_at)
VALUES (?1, ?2, ?3, ?4, 0)
ON CONFLICT (limit_name) DO UPDATE SET
    amount = excluded.amount,
    is_rate = excluded.is_rate,
    defined_by = excluded.defined_by
WHERE slot_limit.defined_by < excluded.defined_by
