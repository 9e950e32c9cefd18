-- Archives the versions of a path at ?2, or restores them if ?2 is null.
UPDATE catalog
SET archived_at = CASE WHEN ?2 IS NULL THEN NULL ELSE coalesce(archived_at, ?2) END
WHERE path = ?1
