-- The executions that may use a credential, and the hosts that it may be sent to.
ALTER TABLE noetl.credential ADD COLUMN IF NOT EXISTS policy json;
