-- Entries of the audit log are appended, and deleted only behind the place that audit_head keeps.

CREATE OR REPLACE FUNCTION noetl.refuse_audit_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'audit_trail' AND TG_OP = 'DELETE' THEN
        IF OLD.number <= coalesce((SELECT before_number FROM noetl.audit_head WHERE id = 1), 0) THEN
            RETURN OLD;
        END IF;
    ELSIF TG_TABLE_NAME = 'audit_head' AND TG_OP = 'UPDATE' THEN
        IF NEW.last_number >= OLD.last_number AND NEW.before_number >= OLD.before_number
            AND NEW.before_number <= NEW.last_number
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit log can only be appended to (% of %)', TG_OP, TG_TABLE_NAME;
END;
$$;

DROP TRIGGER IF EXISTS audit_trail_kept ON noetl.audit_trail;
CREATE TRIGGER audit_trail_kept BEFORE UPDATE OR DELETE ON noetl.audit_trail
    FOR EACH ROW EXECUTE FUNCTION noetl.refuse_audit_change();

DROP TRIGGER IF EXISTS audit_trail_not_emptied ON noetl.audit_trail;
CREATE TRIGGER audit_trail_not_emptied BEFORE TRUNCATE ON noetl.audit_trail
    FOR EACH STATEMENT EXECUTE FUNCTION noetl.refuse_audit_change();

DROP TRIGGER IF EXISTS audit_head_kept ON noetl.audit_head;
CREATE TRIGGER audit_head_kept BEFORE UPDATE OR DELETE ON noetl.audit_head
    FOR EACH ROW EXECUTE FUNCTION noetl.refuse_audit_change();

DROP TRIGGER IF EXISTS audit_head_not_emptied ON noetl.audit_head;
CREATE TRIGGER audit_head_not_emptied BEFORE TRUNCATE ON noetl.audit_head
    FOR EACH STATEMENT EXECUTE FUNCTION noetl.refuse_audit_change();
