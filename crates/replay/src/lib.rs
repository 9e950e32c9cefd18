//! Read-only views of a log, computed by folding its typed events: a picture for comparing
//! executions, and the timeline of steps and commands.
//!
//! Invariant: the same events give the same bytes, on every machine and from every store.

mod difference;
mod picture;
mod timeline;
mod wanted;

pub use difference::{Difference, Operation, StateChange, difference};
pub use picture::Picture;
pub use timeline::{
    CommandSpan, ForkGap, Spent, StepSpan, TIMELINE_SPANS_MAX, Timeline, TimelineFold,
    TimelineOutcome,
};
pub use wanted::Wanted;

#[cfg(test)]
mod tests;
