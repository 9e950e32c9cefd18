-- The executions that may use a credential, and the hosts that it may be sent to.
ALTER TABLE credential ADD COLUMN policy TEXT;
