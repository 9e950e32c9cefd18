-- Entries of the audit log are appended, and deleted only behind the place that audit_head keeps.

CREATE TRIGGER IF NOT EXISTS audit_trail_unchanged BEFORE UPDATE ON audit_trail
BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log cannot be changed');
END;

CREATE TRIGGER IF NOT EXISTS audit_trail_kept BEFORE DELETE ON audit_trail
WHEN OLD.number > coalesce((SELECT before_number FROM audit_head WHERE id = 1), 0)
BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log cannot be deleted from its middle or end');
END;

CREATE TRIGGER IF NOT EXISTS audit_head_forward BEFORE UPDATE ON audit_head
WHEN NEW.last_number < OLD.last_number OR NEW.before_number < OLD.before_number
    OR NEW.before_number > NEW.last_number
BEGIN
    SELECT RAISE(ABORT, 'the ends of the audit log cannot go back');
END;

CREATE TRIGGER IF NOT EXISTS audit_head_kept BEFORE DELETE ON audit_head
BEGIN
    SELECT RAISE(ABORT, 'the ends of the audit log cannot be deleted');
END;
