//! Bodies about a part of an execution's log: density of events, rows of a timeline, live updates.

use noetl_model::{ExecutionStatus, Timestamp, ToolError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{PositionOpen, PositionStep};
use crate::AnyId;

/// The axis along which buckets have equal lengths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogAxis {
    #[default]
    Seq,
    Time,
}

/// The density of events over a part of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogDensity {
    pub execution_id: AnyId,
    pub axis: LogAxis,
    /// The first and the last event of the part.
    pub from: u64,
    pub to: u64,
    /// True if every event was read. Otherwise times are interpolated between sampled events, and
    /// of the failures only the latest of each step are marked.
    pub is_exact: bool,
    pub buckets: Vec<LogBucket>,
    /// At most 500, oldest first.
    pub marks: Vec<LogMark>,
    /// The number of marks that are left out.
    pub marks_left_out: u64,
}

/// A part of the axis, and the events in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogBucket {
    /// The events after `after` up to and including `until` are in the bucket.
    pub after: u64,
    pub until: u64,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub from_at: Timestamp,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub to_at: Timestamp,
    pub events: u64,
    /// The marked failures and retries in the bucket.
    pub failures: u64,
    pub retries: u64,
}

/// An event that is marked on the axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogMark {
    pub seq: u64,
    #[serde(with = "crate::text::maybe_time")]
    #[schema(value_type = Option<String>)]
    pub at: Option<Timestamp>,
    pub kind: LogMarkKind,
    pub step: Option<String>,
}

/// The kind of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogMarkKind {
    /// A command, an item, a step or the execution failed.
    Failure,
    /// A task is tried again.
    Retry,
    /// Another worker took over a command.
    Takeover,
    /// The execution was forked from another one after this event.
    Fork,
    Cancellation,
    /// The execution did not advance, or its log has lost events.
    Trouble,
    /// A state is saved here.
    SavedState,
}

/// Rows of a timeline in a part of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineWindow {
    pub execution_id: AnyId,
    /// The first and the last event of the part.
    pub from: u64,
    pub to: u64,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub from_at: Timestamp,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub to_at: Timestamp,
    /// True if the events of the part were read. Otherwise there are too many, and a row has only
    /// its first entry and its latest run.
    pub has_segments: bool,
    /// True if attempts are left out.
    pub is_truncated: bool,
    /// The number of rows: steps that were reached.
    pub total: u64,
    /// The rows of the window, in the order of the playbook.
    pub rows: Vec<TimelineRow>,
}

/// The row of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineRow {
    /// The step at the end of the part; its output is left out.
    pub step: PositionStep,
    /// At most 200; neighbours are merged beyond.
    pub segments: Vec<TimelineSegment>,
    /// The attempts, and the waits before them, of a step that is expanded: at most 500 of all rows.
    pub attempts: Vec<TimelineAttempt>,
    /// The ended items of an expanded step's loop, in groups of 50.
    pub groups: Vec<TimelineItemGroup>,
}

/// The activity of a step; of several at once, the first of this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineActivity {
    Running,
    Child,
    WaitingForWorker,
    WaitingForSlot,
    WaitingForSignal,
    WaitingForApproval,
    WaitingForTimer,
}

/// A part of a row with one activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TimelineSegment {
    pub activity: TimelineActivity,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub from_at: Timestamp,
    /// `None` if the activity goes on at the end of the part.
    #[serde(with = "crate::text::maybe_time")]
    #[schema(value_type = Option<String>)]
    pub to_at: Option<Timestamp>,
}

/// An attempt of a command, or the wait before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TimelineAttempt {
    pub run: u64,
    pub item: Option<u64>,
    pub command: u64,
    pub activity: TimelineActivity,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub from_at: Timestamp,
    #[serde(with = "crate::text::maybe_time")]
    #[schema(value_type = Option<String>)]
    pub to_at: Option<Timestamp>,
    /// The seq of the event that ended the activity.
    pub ended: Option<u64>,
    pub is_failed: bool,
}

/// Consecutive items of a loop that ended within the part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TimelineItemGroup {
    pub run: u64,
    pub first: u64,
    pub last: u64,
    pub completed: u64,
    pub failed: u64,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub from_at: Timestamp,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub to_at: Timestamp,
}

/// The changes of an execution since the last update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveUpdate {
    pub execution_id: AnyId,
    /// The seq of the last event that is part of this update.
    pub position: u64,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub at: Timestamp,
    #[schema(value_type = String)]
    pub status: ExecutionStatus,
    pub current_step: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub error: Option<ToolError>,
    /// The steps that have changed.
    pub steps: Vec<PositionStep>,
    /// All open work.
    pub open: PositionOpen,
    pub steps_total: u32,
    pub steps_completed: u32,
    pub steps_failed: u32,
    pub items_total: u64,
    pub items_completed: u64,
    pub items_failed: u64,
}
