//! The shell around the engine: mailboxes, submit, group commit, timers, leases, children.
