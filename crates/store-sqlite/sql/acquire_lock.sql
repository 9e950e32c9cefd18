-- Acquires or extends a named lock until ?3, unless another holder has it at ?4.
INSERT INTO turn (name, holder, until)
VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET
    holder = excluded.holder,
    until = excluded.until
WHERE turn.holder = excluded.holder OR turn.until <= ?4
