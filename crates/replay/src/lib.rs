//! Read-only views of a log, computed by folding its typed events: a picture for comparing
//! executions, and the timeline of steps and commands.
//!
//! Invariant: the same events give the same bytes, on every machine and from every store.

mod cause;
mod change;
mod comparable_state;
mod critical;
mod density;
mod difference;
mod parting;
mod read_on;
mod timeline;
mod window;

pub use cause::{CAUSE_EVENTS_MAX, cause_of};
pub use change::{
    ArcDifference, StateDifference, StepDifference, ValueDifference, state_difference,
};
pub use comparable_state::ComparableState;
pub use critical::{CriticalRun, critical_path};
pub use density::{DensityAxis, DensityBucket, MarkKind, TimedSeq, density, mark_kind};
pub use difference::{Difference, Operation, StateChange, difference};
pub use parting::{LogSide, Parting, PartingFold};
pub use read_on::ReadOn;
pub use timeline::{
    CommandSpan, ForkGap, Spent, StepSpan, TIMELINE_SPANS_MAX, Timeline, TimelineFold,
    TimelineOutcome,
};
pub use window::{
    AttemptSpan, ITEMS_GROUPED_FROM, ItemGroup, RowActivity, RowSegment, SEGMENTS_MAX,
    WINDOW_SPANS_MAX, WindowFold, WindowRow,
};

#[cfg(test)]
mod tests;
