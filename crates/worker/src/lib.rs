//! Lease, heartbeat, run a tool, report.
