//! Isolation of the programs that steps start.
//!
//! A program is not started directly: the worker starts the binary again as a launcher
//! ([`run_launcher`]), which applies the protections to itself and then starts the program. No code
//! runs between `fork` and `exec` of the worker.
//!
//! Invariants: a program is started only if every protection of its specification was applied.
//! The environment of a step never reaches the launcher's own dynamic linker: the variables travel
//! under a prefix and are renamed for the program.

mod hidden;
mod isolation;
#[cfg(target_os = "linux")]
mod launcher;
mod process_tree;
mod protection;
mod settings;
mod spec;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
use launcher as system;
#[cfg(not(target_os = "linux"))]
use unsupported as system;

pub use hidden::{HiddenFiles, resolve_path};
pub use isolation::{Isolation, IsolationRefused, LaunchRefusal, LaunchedCommand};
pub use process_tree::{descendants, kill_descendants};
pub use protection::{IsolationReport, Protection, ProtectionState, ProtectionStatus};
pub use settings::{IsolationMode, IsolationSettings, StepLimits, StepUser, UnknownUser};
pub use spec::LAUNCHER_COMMAND;
pub use system::{protect_own_process, run_launcher};
