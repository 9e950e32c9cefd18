//! Lease, heartbeat, run a tool, report.
//!
//! A [`Worker`] takes commands from a control plane, as many as it has slots, runs each in a task of
//! its own and reports how it ended. It keeps nothing: whatever happens to it, its leases run out and
//! others take over.
//!
//! Invariants: a command counts as held from its lease to the answer to its report, and is
//! heartbeaten all that time; a command that is lost is stopped, and what comes of it is not reported.

mod attend;
mod backoff;
mod credentials;
mod holding;
mod intake;
mod report;
mod results;
mod run;
mod worker;

pub use credentials::PlaneCredentials;
pub use intake::{IntakeEnd, IntakeRuntime};
pub use results::KeptResults;
pub use worker::{Settings, Worker};
