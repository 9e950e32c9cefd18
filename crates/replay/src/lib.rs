//! What a log shows when it is read again.
//!
//! Everything here takes events one by one, in the order of the log, and keeps what it shows: the
//! public projections with their checksums, a picture to compare with another, the times things took.
//!
//! Invariant: the same events give the same bytes, on every machine and from every store.

mod canon;
mod commands;
mod difference;
mod envelope;
mod fold;
mod identity;
mod objects;
mod picture;
mod projection;
mod reference;
mod state;
mod timeline;

pub use canon::{Checksum, canonical};
pub use commands::{Command, Commands};
pub use difference::{Change, Difference, Operation, difference};
pub use envelope::{Aggregate, Envelope};
pub use fold::Fold;
pub use picture::Picture;
pub use projection::{Projection, UnknownProjection};
pub use reference::{PayloadSummary, Reference};
pub use state::{
    BusinessObject, Checksums, ExecutionState, Frame, Loop, PayloadRef, ReplayState, Stage,
};

pub use timeline::{
    CommandSpan, ForkGap, Outcome, Spent, StepSpan, TIMELINE_SPANS_MAX, Timeline, TimelineFold,
};

#[cfg(test)]
mod tests;
