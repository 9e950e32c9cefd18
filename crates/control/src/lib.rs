//! The imperative shell around the engine: stores decisions and sends the resulting messages.
//!
//! All inputs of an execution go through its mailbox: waiting inputs are decided one after another
//! on its state and appended together, in a transaction shared with other executions. Loops turn
//! due rows (timers, expired leases, pending messages, children to start) into further inputs.
//!
//! Invariants: a caller is answered after the commit; after a conflict, an input is decided again
//! on the stored state; any number of control planes may share a store.

mod admission;
mod below;
mod catalog;
mod children;
mod clock;
mod commit;
mod control;
mod deciders;
mod draft;
mod error;
mod follow;
mod fork;
mod lease;
mod load;
mod lookout;
mod lookup;
mod mailbox;
mod needs;
mod outcomes;
mod payloads;
mod possession;
mod projection;
mod relay;
mod release;
mod remind;
mod report;
mod reserve;
mod rewind;
mod rounds;
mod schedules;
mod settings;
mod snapshot;
mod start;
mod subscriptions;
mod sweep;
mod tasks;
mod timers;
mod turn;
mod vacancy;
mod verify;

#[cfg(test)]
mod tests;

pub use admission::{Admission, BacklogFull};
pub use catalog::Registered;
pub use clock::Skew;
pub use control::Control;
pub use error::{Damage, LoadError, PayloadError, RegisterError, StartError, SubmitError};
pub use follow::Follow;
pub use fork::{ForkAt, ForkError, ForkRequest};
pub use lease::Heartbeat;
pub use mailbox::{Answer, MAILBOX_MAX};
pub use outcomes::OutcomeCounts;
pub use projection::Advanced;
pub use relay::notification;
pub use report::ReportAnswer;
pub use schedules::{BACKFILL_MAX, Fired, ScheduleAction, ScheduleError};
pub use settings::{BACKLOG_DEFAULT, Settings};
pub use start::{CHILD_DEPTH_MAX, PlaybookChoice, StartRequest, Started};
pub use subscriptions::SubscriptionError;
pub use verify::{Fault, Verdict, verify};
