//! Systems without isolation of steps.

use std::process::ExitCode;

pub(crate) fn os_supports_isolation() -> bool {
    false
}

pub(crate) fn is_root() -> bool {
    false
}

/// Returns `None`: there is no launcher on this system.
pub fn run_launcher() -> Option<ExitCode> {
    None
}

/// Does nothing: this system has no such protection.
pub fn protect_own_process() -> std::io::Result<()> {
    Ok(())
}
