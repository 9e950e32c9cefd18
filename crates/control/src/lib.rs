//! The imperative shell around the engine: stores decisions and sends the resulting messages.
//!
//! All inputs of an execution go through its mailbox: waiting inputs are decided one after another
//! on its state and appended together, in a transaction shared with other executions. Loops turn
//! due rows (timers, expired leases, pending messages, children to start) into further inputs.
//!
//! Invariants: a caller is answered after the commit; after a conflict, an input is decided again
//! on the stored state; any number of control planes may share a store.

mod clock;
mod control;
mod error;
mod loops;
mod read;
mod settings;
mod starts;
mod state;
mod submit;
mod tasks;
mod work;

#[cfg(test)]
mod tests;

pub use clock::Skew;
pub use control::Control;
pub use error::{
    AmbiguousName, Damage, LoadError, PLAYBOOK_ARCHIVED, PayloadError, RegisterError, StartError,
    SubmitError,
};
pub use loops::relay::notification;
pub use loops::schedules::{BACKFILL_MAX, Fired, ScheduleAction, ScheduleError};
pub use loops::subscriptions::SubscriptionError;
pub use read::follow::Follow;
pub use read::verify::{Fault, LogVerification, verify};
pub use settings::{BACKLOG_DEFAULT, ControlSettings, NotificationSender};
pub use starts::admission::{Admission, BacklogFull};
pub use starts::catalog::Registered;
pub use starts::catalog_name::EntryNameError;
pub use starts::fork::{ForkAt, ForkError, ForkRequest};
pub use starts::guard::StartGuard;
pub use starts::sealing::InputSealer;
pub use starts::start::{CHILD_DEPTH_MAX, PlaybookChoice, StartRequest, Started};
pub use state::positions::STATE_PROJECTION;
pub use state::projection::Advanced;
pub use submit::copied_log::CopiedLog;
pub use submit::mailbox::{MAILBOX_MAX, MailboxAnswer};
pub use work::claim::ClaimAnswer;
pub use work::durations::{DURATION_BOUNDS, DurationHistogram, DurationTable};
pub use work::keyed_signal::{
    KEPT_SIGNALS_MAX, KEPT_SIGNALS_OF_KEY_MAX, KEYED_BODY_MAX, SIGNAL_KEPT, SIGNAL_KEPT_MAX,
    SignalByKey,
};
pub use work::outcomes::OutcomeCounts;
pub use work::pauses::{PAUSES_MAX, PauseCaller, SetPauseError};
pub use work::signal::{SendSignalError, SentSignal};
