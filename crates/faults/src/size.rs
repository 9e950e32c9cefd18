//! The size of a fault run, and runs that are impossible on a machine.

use std::io::Write as _;

/// True if tests of faults are run at full size: `NOETL_FAULTS=full`, as `cargo xtask faults` sets.
pub fn is_full_size() -> bool {
    std::env::var_os("NOETL_FAULTS").is_some_and(|size| size == "full")
}

/// Tells on standard error why a test was skipped.
pub fn tell_skipped(reason: &str) {
    let _unread = writeln!(std::io::stderr(), "skipped: {reason}");
}
