//! The tools that a worker can run, one module per tool kind.
//!
//! A [`Registry`] holds the tools of a worker. It renders the templates of a lease, runs the tool
//! and stops it at its timeout. The environment, credentials and network policy of a tool are
//! passed in through [`ToolSettings`].
//!
//! Invariant: everything that a tool started has ended when its run ends, whether by itself, by
//! timeout or by cancellation. A [`Registry`] removes the tool's secrets from output, errors and
//! logs before it truncates them.

mod intake;
mod kinds;
mod notices;
mod process;
mod protect;
mod run;
mod sql;

#[cfg(test)]
mod testing;

pub use intake::{FetchedMessage, PullSource, PullSources, Receipt, StandardSources};
pub use kinds::python::python_compilation;
pub use kinds::rhai::RhaiSyntax;
pub use notices::{NoticeClient, OutgoingMail, Undelivered};
pub use protect::credentials::{CredentialResolver, FixedCredentials, UsedCredentials};
pub use protect::files::FileAccess;
pub use protect::outgoing::{Egress, EgressRule, InvalidEgressRule};
pub use protect::redactor::{REDACTED, Redactor, SECRET_MIN};
pub use run::call::{Call, Tool, ToolResult};
pub use run::live::{LIVE_BYTES_MAX, LIVE_BYTES_READY, LiveBuffer, LiveLog, LivePiece, LiveTake};
pub use run::memory::{CallMemory, MemoryBudget};
pub use run::registry::{CallParts, Registry, TIMEOUT_DEFAULT};
pub use run::results::{NoResults, ResultReference, ResultSource};
pub use run::settings::{ToolSettings, WorkerIdentity, library_place};
