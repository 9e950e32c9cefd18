-- Deletes limit ?1 of a playbook if nothing holds a slot or waits: there may be one for each key.
DELETE FROM slot_limit
WHERE
    limit_name = ?1
    AND limit_name LIKE 'playbook:%'
    AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.limit_name = ?1)
