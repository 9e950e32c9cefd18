//! Bodies about the state of an execution at a position: the state after one of its events.

use noetl_model::{ExecutionStatus, SkipReason, StepStatus, Timestamp, ToolError, ToolKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::AnyId;

/// The state of an execution at a position. Its size is bounded by the playbook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PositionState {
    pub execution_id: AnyId,
    /// The seq of the last event that is part of this state.
    pub position: u64,
    /// The seq of the last event of the log.
    pub last: u64,
    /// The time of the event at the position.
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub at: Timestamp,
    #[schema(value_type = String, example = "RUNNING")]
    pub status: ExecutionStatus,
    pub path: String,
    pub version: u32,
    pub catalog_id: AnyId,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub started_at: Timestamp,
    #[serde(with = "crate::text::maybe_time")]
    #[schema(value_type = Option<String>)]
    pub ended_at: Option<Timestamp>,
    /// The time at which the execution was found to be late; null if it is not.
    #[serde(with = "crate::text::maybe_time", default)]
    #[schema(value_type = Option<String>)]
    pub late_at: Option<Timestamp>,
    /// The step entered last.
    pub current_step: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub error: Option<ToolError>,
    /// The steps of the playbook, in its order, then steps of an earlier version.
    pub steps: Vec<PositionStep>,
    pub arcs: Vec<PositionArc>,
    pub open: PositionOpen,
    pub workload: PositionValue,
    /// The variables of `ctx`, by name.
    pub ctx: Vec<NamedPositionValue>,
}

/// A step at a position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PositionStep {
    pub name: String,
    /// The tool of the step's first task; `None` if the playbook has no such step.
    #[schema(value_type = Option<String>)]
    pub tool: Option<ToolKind>,
    /// The status of the latest run; `None` if the step was not reached.
    #[schema(value_type = Option<String>)]
    pub status: Option<StepStatus>,
    /// The number of runs.
    pub runs: u32,
    /// `guard`, `admission` or `stopped` if the step was skipped last.
    #[schema(value_type = Option<String>)]
    pub skipped: Option<SkipReason>,
    /// The seq of the event that skipped the step last.
    #[serde(default)]
    pub skipped_by: Option<u64>,
    /// The time of the first run.
    #[serde(with = "crate::text::maybe_time")]
    #[schema(value_type = Option<String>)]
    pub first_entered_at: Option<Timestamp>,
    pub latest: Option<PositionRun>,
    #[schema(value_type = Option<Object>)]
    pub error: Option<ToolError>,
    /// The output of the latest ended run; null if none has ended.
    pub output: PositionValue,
}

/// The latest run of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PositionRun {
    /// The number of the run within its execution.
    pub run: u64,
    /// The seq of the event that entered the step.
    pub entered: u64,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub entered_at: Timestamp,
    /// The seq of the event that ended the run.
    pub ended: Option<u64>,
    #[serde(with = "crate::text::maybe_time")]
    #[schema(value_type = Option<String>)]
    pub ended_at: Option<Timestamp>,
    /// The number of claims of the run's commands by workers.
    pub attempts: u64,
    /// The progress of the run's loop; `None` if the step has none.
    pub items: Option<PositionItems>,
}

/// The progress of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PositionItems {
    /// The items known so far; a cursor loop fetches its items in frames.
    pub total: u64,
    pub completed: u64,
    pub failed: u64,
    /// The items that have begun and not ended.
    pub running: u64,
}

/// An arc of the playbook at a position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PositionArc {
    pub from: String,
    pub to: String,
    /// The place of the arc among those of its step, from 0; `None` if the playbook has no such
    /// arc.
    pub index: Option<u64>,
    /// The guard as written; `None` if the arc has none.
    #[schema(value_type = Option<Object>)]
    pub when: Option<Value>,
    /// The number of times that an arc led from the one step to the other.
    pub times: u64,
    /// The seq of the event that recorded it last.
    pub last: Option<u64>,
}

/// The open work at a position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PositionOpen {
    /// The number of open parts.
    pub total: u64,
    /// The open parts, by step and by what they wait for.
    pub groups: Vec<OpenWorkGroup>,
    /// The first open parts, at most 100.
    pub parts: Vec<OpenWorkPart>,
}

/// Open parts of one step that wait for the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OpenWorkGroup {
    /// The step; `None` for the time limit of the execution.
    pub step: Option<String>,
    /// The wait of the part that has waited longest.
    pub wait: OpenWait,
    pub count: u64,
}

/// A part of the open work: a command, a retry, a time limit or a join.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OpenWorkPart {
    pub step: Option<String>,
    /// The number of the step's run.
    pub run: Option<u64>,
    /// The index of the loop item.
    pub item: Option<u64>,
    /// The number of the command within its execution.
    pub command: Option<u64>,
    #[schema(value_type = Option<String>)]
    pub tool: Option<ToolKind>,
    pub wait: OpenWait,
}

/// The condition that open work waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum OpenWait {
    /// A worker of the pool claims the command.
    Worker {
        pool: String,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
        /// False if no worker is connected for the pool; `None` for a position in the past.
        is_served: Option<bool>,
    },
    /// A worker reports the end of the command.
    Report {
        worker: String,
        attempt: u32,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
        /// The end of the lease; for a position in the past, as it was granted first.
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        lease_until: Timestamp,
    },
    /// A job that the worker has started elsewhere, such as a container, reports its end by a
    /// callback. The worker is done, and no other worker gets the command.
    Callback {
        worker: String,
        attempt: u32,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
    },
    /// A time comes.
    Time {
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        until: Timestamp,
    },
    /// A signal arrives.
    Signal {
        name: String,
        /// The correlation key of the wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
    },
    /// A person decides about an approval.
    Approval {
        title: String,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
    },
    /// A limit grants a slot.
    Slot {
        limit: String,
        /// The place in the queue, from 1 on, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<u64>,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
    },
    /// The execution is resumed.
    Resumption {
        /// The name of the caller that paused the execution.
        actor: Option<String>,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
    },
    /// A child execution ends.
    Child {
        execution_id: AnyId,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
    },
    /// The next try of a task is due.
    Retry {
        /// The number of the retry, from 1.
        retry: u32,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        due_at: Timestamp,
    },
    /// A time limit; it ends other work that is open.
    TimeLimit {
        of: TimeLimitScope,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        since: Timestamp,
        #[serde(with = "crate::text::time")]
        #[schema(value_type = String)]
        due_at: Timestamp,
    },
    /// Other branches reach the join.
    Branches {
        /// The steps whose arcs have led to the join.
        arrived: Vec<String>,
    },
}

/// The extent of a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeLimitScope {
    /// The time by which the execution is expected to end; it goes on afterwards.
    Expected,
    Execution,
    Step,
    Task,
}

/// A variable and its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NamedPositionValue {
    pub name: String,
    pub value: PositionValue,
}

/// A value at a position; a large one is loaded by its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum PositionValue {
    Inline {
        #[schema(value_type = Object)]
        value: Value,
    },
    /// The value is left out because of its size.
    LeftOut {
        /// The length of its JSON.
        bytes: u64,
    },
}

/// A whole value at a position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LoadedPositionValue {
    pub execution_id: AnyId,
    pub position: u64,
    /// `workload`, `ctx.NAME` or `steps.NAME`.
    pub name: String,
    #[schema(value_type = Object)]
    pub value: Value,
}
