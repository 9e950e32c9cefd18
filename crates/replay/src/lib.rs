//! Read-only views of a log, computed by replaying it.
//!
//! Each fold takes events one by one in log order: the public projections with their checksums, a
//! picture for comparing executions, and the timeline of steps and commands.
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
