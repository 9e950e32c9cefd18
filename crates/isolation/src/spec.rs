//! The instructions of the worker to a launcher, as JSON in an argument.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::settings::{StepLimits, StepUser};

/// The hidden command of the binary that runs the launcher.
pub const LAUNCHER_COMMAND: &str = "step-launcher";
/// The prefix of the program's environment variables in the launcher's environment.
pub(crate) const VARIABLE_PREFIX: &str = "NOETL_STEP_ENV_";
/// The exit code of a launcher that did not start the program.
pub(crate) const REFUSED_CODE: i32 = 125;

/// The protections to apply, in the order of [`crate::Protection`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchSpec {
    pub(crate) purpose: LaunchPurpose,
    pub(crate) namespaces: Namespaces,
    /// The user to become before anything else.
    pub(crate) user: Option<StepUser>,
    /// The files and directories that the program may not reach.
    pub(crate) hidden: Vec<PathBuf>,
    /// The directories that the program may read and not change, as far as the system allows.
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) landlock: bool,
    pub(crate) seccomp: bool,
    pub(crate) capabilities: bool,
    pub(crate) limits: StepLimits,
    /// A random text that begins the launcher's own message, so that no program can imitate it.
    pub(crate) mark: String,
}

/// The purpose of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LaunchPurpose {
    /// Start the program; any protection that fails is an error.
    Program,
    /// Apply everything possible, print the states and start nothing.
    Probe,
}

/// The namespaces that a launcher creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Namespaces {
    None,
    Mount,
    UserMount,
    MountProcess,
    UserMountProcess,
}

impl Namespaces {
    pub(crate) fn has_user(self) -> bool {
        match self {
            Namespaces::UserMount | Namespaces::UserMountProcess => true,
            Namespaces::None | Namespaces::Mount | Namespaces::MountProcess => false,
        }
    }

    pub(crate) fn has_mount(self) -> bool {
        match self {
            Namespaces::None => false,
            Namespaces::Mount
            | Namespaces::UserMount
            | Namespaces::MountProcess
            | Namespaces::UserMountProcess => true,
        }
    }

    pub(crate) fn has_process(self) -> bool {
        match self {
            Namespaces::MountProcess | Namespaces::UserMountProcess => true,
            Namespaces::None | Namespaces::Mount | Namespaces::UserMount => false,
        }
    }
}
