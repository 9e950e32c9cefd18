//! Whether the settings are kept as they should be.

use std::os::unix::fs::PermissionsExt as _;

use super::Check;
use crate::config::settings::{Secrecy, TABLE};
use crate::config::{Config, Source};

/// The bits that let others read a file.
const READ_BY_OTHERS: u32 = 0o044;

pub(super) fn check(config: &Config) -> Check {
    let Some(path) = config.file() else {
        return Check::ok("settings", "no noetl.toml; the environment and the defaults hold");
    };
    let shown = config.short(path);
    let mode = std::fs::metadata(path).map_or(0, |file| file.permissions().mode());
    let has_secrets = TABLE.iter().any(|row| {
        row.secrecy == Secrecy::Masked
            && matches!(config.in_force(row).1, Source::File | Source::Context)
    });
    if has_secrets && mode & READ_BY_OTHERS != 0 {
        return Check::warn(
            "settings",
            format!("{shown} has secrets that other users can read"),
            format!("chmod 600 {shown}"),
        );
    }
    Check::ok("settings", shown)
}
