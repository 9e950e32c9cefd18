//! Checks of the settings files: trust and permissions.

use std::os::unix::fs::PermissionsExt as _;

use super::DoctorCheck;
use crate::config::settings::{Secrecy, TABLE};
use crate::config::trust::Withheld;
use crate::config::{Config, Source};

/// The permission bits that let other users read a file.
const READ_BY_OTHERS: u32 = 0o044;

pub(super) fn check(config: &Config) -> DoctorCheck {
    if config.files().is_empty() {
        return DoctorCheck::ok("settings", "no noetl.toml; the environment and the defaults hold");
    }
    if let Some(withheld) = config.withheld() {
        return DoctorCheck::warn("settings", withheld.to_string(), Withheld::WAY_OUT);
    }
    let readable = config.files().iter().find(|path| {
        let mode = std::fs::metadata(path).map_or(0, |file| file.permissions().mode());
        mode & READ_BY_OTHERS != 0
    });
    let has_secrets = TABLE.iter().any(|row| {
        row.secrecy == Secrecy::Masked
            && matches!(config.in_force(row).1, Source::File | Source::Context)
    });
    if let Some(path) = readable
        && has_secrets
    {
        let shown = config.short(path);
        return DoctorCheck::warn(
            "settings",
            format!("{shown} has secrets that other users can read"),
            format!("chmod 600 {shown}"),
        );
    }
    let shown: Vec<String> = config.files().iter().map(|path| config.short(path)).collect();
    DoctorCheck::ok("settings", shown.join(", "))
}
