//! The tools that a worker can run, one module per tool kind.
//!
//! A [`Registry`] holds the tools of a worker. It renders the templates of a lease, runs the tool
//! and stops it at its timeout. The environment, credentials and network policy of a tool are
//! passed in through [`ToolSettings`].
//!
//! Invariant: everything that a tool started has ended when its run ends, whether by itself, by
//! timeout or by cancellation. A [`Registry`] removes the tool's secrets from output, errors and
//! logs before it truncates them.

mod artifact;
mod call;
mod capture;
mod credentials;
mod duckdb;
mod group;
mod http;
mod intake;
mod keys;
mod memory;
mod nats;
mod noop;
mod outgoing;
mod postgres;
mod prepare;
mod python;
mod redactor;
mod registry;
mod results;
mod rhai;
mod script;
mod secrets;
mod settings;
mod shell;
mod source;
mod sql;
mod sqlite;
mod subscription;
mod transfer;

#[cfg(test)]
mod testing;

pub use call::{Call, Tool, ToolResult};
pub use credentials::{CredentialResolver, FixedCredentials, UsedCredentials};
pub use intake::{FetchedMessage, PullSource, PullSources, Receipt, StandardSources};
pub use memory::{CallMemory, MemoryBudget};
pub use outgoing::{Egress, EgressRule, InvalidEgressRule};
pub use redactor::{REDACTED, Redactor, SECRET_MIN};
pub use registry::{Registry, TIMEOUT_DEFAULT};
pub use results::{NoResults, ResultReference, ResultSource};
pub use settings::{ToolSettings, WorkerIdentity, library_place};
