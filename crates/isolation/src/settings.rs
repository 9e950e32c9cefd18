//! The settings of the isolation of steps.

use serde::{Deserialize, Serialize};

use crate::hidden::HiddenFiles;

/// The choice of how steps are isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IsolationMode {
    /// Programs are started directly.
    Off,
    /// Every protection that this system allows.
    #[default]
    Auto,
    /// Every protection; without one of them nothing is run.
    Required,
}

impl IsolationMode {
    pub const NAMES: &[&str] = &["off", "auto", "required"];

    /// Returns the mode with a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "off" => Some(IsolationMode::Off),
            "auto" => Some(IsolationMode::Auto),
            "required" => Some(IsolationMode::Required),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            IsolationMode::Off => "off",
            IsolationMode::Auto => "auto",
            IsolationMode::Required => "required",
        }
    }
}

/// The limits of each process of a step. `None` leaves a limit as the worker has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepLimits {
    /// Processor time of one process, in seconds.
    pub cpu_seconds: Option<u64>,
    /// Writable private memory of one process, in bytes.
    pub memory_bytes: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Processes and threads of the step.
    pub processes: Option<u64>,
    /// Size of a file that a process writes, in bytes.
    pub file_bytes: Option<u64>,
}

/// A user and its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepUser {
    pub uid: u32,
    pub gid: u32,
}

/// The user of steps does not exist.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no user `{0}` on this machine")]
pub struct UnknownUser(String);

impl StepUser {
    /// Finds a user by name in the text of `/etc/passwd`, or takes `UID:GID` as it is.
    pub fn find(name: &str, passwd: &str) -> Result<Self, UnknownUser> {
        let unknown = || UnknownUser(name.to_owned());
        if let Some((uid, gid)) = name.split_once(':') {
            let (uid, gid) = (uid.parse(), gid.parse());
            return Ok(Self { uid: uid.map_err(|_| unknown())?, gid: gid.map_err(|_| unknown())? });
        }
        let fields = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let mut found = fields.filter(|fields| fields.first() == Some(&name) && fields.len() > 3);
        let fields = found.next().ok_or_else(unknown)?;
        let number = |text: &str| text.parse().map_err(|_| unknown());
        Ok(Self { uid: number(fields[2])?, gid: number(fields[3])? })
    }
}

/// The settings of the isolation of steps.
#[derive(Debug, Clone, Default)]
pub struct IsolationSettings {
    pub mode: IsolationMode,
    /// The user of programs, if the worker runs as root.
    pub user: Option<StepUser>,
    /// The files and directories that programs may not reach.
    pub hidden: HiddenFiles,
    pub limits: StepLimits,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<(u32, u32)>) {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nsteps:x:998:997::/:/bin/false\nbad:x\n";
        let found = StepUser::find(name, passwd).ok().map(|user| (user.uid, user.gid));
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn a_user_is_a_name_or_two_numbers() {
        check("steps", Some((998, 997)));
        check("1000:1001", Some((1000, 1001)));
        check("nobody", None);
        check("bad", None);
        check("1000:x", None);
    }

    #[test]
    fn every_mode_has_a_name() {
        for name in IsolationMode::NAMES {
            assert_eq!(IsolationMode::named(name).map(IsolationMode::as_str), Some(*name));
        }
        assert_eq!(IsolationMode::named("on"), None);
    }
}
