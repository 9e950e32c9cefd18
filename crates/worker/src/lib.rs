//! The worker: leases commands, runs their tools, sends heartbeats and reports.
//!
//! A [`Worker`] leases as many commands from a control plane as it has slots, runs each in a task
//! of its own and reports how it ended. A worker stores nothing: if it dies, its leases expire and
//! other workers take over.
//!
//! Invariants: a command is held, and its lease extended by heartbeats, from its lease until its
//! report is answered; a lost command is stopped and not reported.

mod attend;
mod backoff;
mod credentials;
mod holding;
mod intake;
mod logs;
mod report;
mod results;
mod run;
mod unsent;
mod worker;

pub use credentials::ControlPlaneCredentials;
pub use intake::{IntakeEnd, IntakeRuntime};
pub use results::StoredResults;
pub use worker::{Worker, WorkerSettings};
