//! The protocol of existing workers: claims of commands, events with their results, and callbacks
//! of jobs.

mod bodies;
mod callback;
mod claimed;
mod issued;
mod normalized;
mod outcome;
mod posted;
mod rendered;
mod seen;
mod spelling;
mod status;

pub use bodies::{
    ClaimRequest, ClaimedCommand, EventAccepted, EventBatch, EventBatchAccepted, PostedEvent,
    PostedItem,
};
pub use callback::{Callback, CallbackAnswer, JobState};
pub use claimed::claimed_command;
pub use issued::{AttemptSource, Issued, LatestClaim, issued_by};
pub use outcome::{Returned, completed, failed, reference, returned, with_stored, without_stored};
pub use posted::{BadFact, NAME_MAX, command_named, fact_of};
pub use rendered::{WorkerCommand, check_fetched, worker_command};
pub use seen::RecentEvents;
pub use status::{ToolStatus, UnknownToolStatus};
