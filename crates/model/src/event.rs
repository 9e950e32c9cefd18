//! The event: a fact about one execution. Facts are appended, never changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Attempt, Bindings, CatalogId, CommandId, Digest, ErrorMode, EventId, ExecutionId, ForkPoint,
    Logs, Payload, PayloadRef, Pool, RunId, Seq, StepName, TimerId, Timestamp, ToolError, ToolKind,
    WorkerId,
};

/// Which version of which playbook an execution runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaybookRef {
    pub catalog_id: CatalogId,
    pub path: String,
    pub version: u32,
}

/// Who started an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Origin {
    /// Somebody outside.
    Request,
    /// A step of another execution, which waits for the end of this one.
    Parent {
        execution: ExecutionId,
        command: CommandId,
        /// The step whose output the parent asked for; the last one's if none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        return_step: Option<StepName>,
        /// How many executions stand above this one.
        depth: u32,
        /// The parent's loop variables, if it started this one for an item: `iter.parent`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iter: Option<Value>,
    },
    /// Somebody outside, below another execution, of which no command waits for the end of this one.
    Linked {
        execution: ExecutionId,
        /// How many executions stand above this one.
        depth: u32,
    },
}

/// What becomes of the executions below one that is cancelled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Below {
    #[default]
    Cancelled,
    /// They go on.
    Spared,
}

impl Below {
    pub fn is_cancelled(&self) -> bool {
        *self == Self::Cancelled
    }
}

/// Why a step was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Its `when` is false.
    Guard,
    /// Its admission rules say no.
    Admission,
    /// The execution ran out of time, or of work it may do, while the step waited for other branches.
    Stopped,
}

/// How a loop goes through its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopMode {
    Sequential,
    Parallel,
    Cursor,
}

/// Where a loop's items come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemSource {
    /// The numbers from zero up to, not including, this one.
    Range(u64),
    List {
        len: u64,
        values: Payload,
    },
    /// Frames of rows, claimed one after another until none is left.
    Cursor,
}

/// What a command is for: a place in a run of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskAddress {
    pub run: RunId,
    pub place: Place,
    /// How often a rule has had this task done again.
    pub retry: u32,
}

/// Where in a step a command belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The n-th task of a step that has no loop.
    Task(u32),
    /// The n-th task of one item of a loop.
    Item { index: u64, task: u32 },
    /// The claim of a cursor loop's n-th frame.
    Claim { frame: u64 },
}

impl Place {
    /// Which item of a loop it is about.
    pub fn item(self) -> Option<u64> {
        match self {
            Self::Item { index, .. } => Some(index),
            Self::Task(_) | Self::Claim { .. } => None,
        }
    }
}

/// Whose variables a `set` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeTarget {
    /// `ctx`: the whole execution's.
    Execution,
    /// `step`, and bare names in a pipeline: those of one run of a step.
    Run { run: RunId },
    /// `iter`, and bare names in a loop's pipeline: those of one item.
    Item { run: RunId, index: u64 },
}

/// What a durable timer wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerPurpose {
    Retry {
        task: TaskAddress,
    },
    StepTimeout {
        run: RunId,
    },
    /// A child that its task does not wait for any longer.
    TaskTimeout {
        task: TaskAddress,
    },
    ExecutionTimeout,
}

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $tag:literal { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* },)+) => {
        /// A fact about one execution. Facts are appended, never changed.
        ///
        /// The serialized tag is stored for ever, so it is pinned here and by the golden files in
        /// `tests/golden/`; the Rust name is free to change.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type")]
        pub enum Event {
            $($(#[$doc])* #[serde(rename = $tag)] $variant { $($(#[$field_meta])* $field: $ty,)* },)+
        }

        /// The name of an [`Event`]'s variant, as stored.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventTag {
            $($variant,)+
        }

        impl EventTag {
            pub const ALL: &'static [EventTag] = &[$(EventTag::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(EventTag::$variant => $tag,)+
                }
            }
        }

        impl Event {
            pub const fn tag(&self) -> EventTag {
                match self {
                    $(Event::$variant { .. } => EventTag::$variant,)+
                }
            }
        }
    };
}

events! {
    ExecutionStarted = "execution.started" {
        playbook: PlaybookRef,
        /// The playbook's defaults with the caller's values merged over them.
        workload: Payload,
        origin: Origin,
        error_mode: ErrorMode,
        /// Where this execution's commands wait.
        pool: Pool,
        /// The W3C trace context the start came with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<Value>,
    },
    /// What came before is another execution's; from here on this one goes its own way.
    ExecutionForked = "execution.forked" {
        origin: ForkPoint,
        /// Another version, from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        playbook: Option<PlaybookRef>,
        /// Another workload, from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workload: Option<Payload>,
        /// Values of `ctx` that are set.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        context: BTreeMap<String, Value>,
        /// Tasks that had failed and are done again; those of a loop's items from the first one on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        again: Vec<TaskAddress>,
    },
    StepEntered = "step.entered" {
        run: RunId,
        step: StepName,
        /// The steps whose arcs led here; none for the entry step.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from: Vec<StepName>,
    },
    StepSkipped = "step.skipped" {
        step: StepName,
        reason: SkipReason,
    },
    /// An arc has led to a step that still waits for other branches.
    StepAwaited = "step.awaited" {
        step: StepName,
        from: StepName,
    },
    LoopOpened = "loop.opened" {
        run: RunId,
        items: ItemSource,
        mode: LoopMode,
        in_flight_max: u32,
    },
    /// A cursor loop's claim has brought rows.
    FrameOpened = "frame.opened" {
        run: RunId,
        frame: u64,
        len: u64,
        rows: Payload,
    },
    IterationCompleted = "iteration.completed" {
        run: RunId,
        index: u64,
        /// Only where it differs from the output of the item's last command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        /// Why its last task failed, if a rule has taken care of that: the item counts as failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ToolError>,
    },
    IterationFailed = "iteration.failed" {
        run: RunId,
        index: u64,
        error: ToolError,
    },
    CommandIssued = "command.issued" {
        command: CommandId,
        task: TaskAddress,
        step: StepName,
        tool: ToolKind,
        pool: Pool,
        bindings: Bindings,
    },
    CommandClaimed = "command.claimed" {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
        lease_until: Timestamp,
        /// The command whose report the claim came with: its worker had room for what follows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<CommandId>,
    },
    CommandCompleted = "command.completed" {
        command: CommandId,
        attempt: Attempt,
        output: Payload,
        #[serde(default, skip_serializing_if = "Logs::is_empty")]
        logs: Logs,
    },
    CommandFailed = "command.failed" {
        command: CommandId,
        attempt: Attempt,
        error: ToolError,
        /// What the tool produced all the same, such as the body of a 404.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        #[serde(default, skip_serializing_if = "Logs::is_empty")]
        logs: Logs,
    },
    CommandCancelled = "command.cancelled" {
        command: CommandId,
        reason: String,
        /// What becomes of the child that it waits for.
        #[serde(default, skip_serializing_if = "Below::is_cancelled")]
        below: Below,
    },
    /// A worker reported after another had taken its command over. Changes nothing.
    AttemptSuperseded = "attempt.superseded" {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
    },
    ChildStarted = "child.started" {
        command: CommandId,
        child: ExecutionId,
    },
    ContextUpdated = "context.updated" {
        target: ScopeTarget,
        values: BTreeMap<String, Value>,
        /// Values that are too large to stand here.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        large: BTreeMap<String, PayloadRef>,
    },
    TimerSet = "timer.set" {
        timer: TimerId,
        due_at: Timestamp,
        purpose: TimerPurpose,
    },
    TimerFired = "timer.fired" {
        timer: TimerId,
    },
    TimerCancelled = "timer.cancelled" {
        timer: TimerId,
    },
    StepCompleted = "step.completed" {
        run: RunId,
        step: StepName,
        /// Only where it differs from the output of the step's last command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
    },
    StepFailed = "step.failed" {
        run: RunId,
        step: StepName,
        error: ToolError,
        /// Whether an arc takes care of it.
        handled: bool,
        /// Only where it differs from the output of the step's last command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
    },
    ExecutionCompleted = "execution.completed" {
        output: Payload,
    },
    ExecutionFailed = "execution.failed" {
        error: ToolError,
        /// The steps that failed and that nothing took care of.
        steps: Vec<StepName>,
    },
    ExecutionCancelled = "execution.cancelled" {
        reason: String,
        /// What becomes of the executions that requests have started below this one.
        #[serde(default, skip_serializing_if = "Below::is_cancelled")]
        below: Below,
    },
    /// Nothing is under way that could move this execution. Changes nothing.
    ExecutionStalled = "execution.stalled" {
        detail: String,
    },
    /// The log has lost events that a server had seen committed: the database was restored, or failed
    /// over to a standby that lagged behind. Changes nothing.
    ExecutionRewound = "execution.rewound" {
        /// The last event that the server had seen.
        seen: Seq,
        /// The last event of the log when the server noticed.
        found: Seq,
    },
    /// Something another program told us and that our state does not depend on.
    Reported = "reported" {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<StepName>,
        body: Value,
    },
}

/// An event in its place in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub seq: Seq,
    pub event_id: EventId,
    pub at: Timestamp,
    pub event: Event,
    /// The digest of the event before it; none if it was written before there were digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<Digest>,
}

impl Event {
    /// The step an event names, for those that name one.
    pub fn step(&self) -> Option<&StepName> {
        match self {
            Event::StepEntered { step, .. }
            | Event::StepSkipped { step, .. }
            | Event::StepAwaited { step, .. }
            | Event::StepCompleted { step, .. }
            | Event::StepFailed { step, .. }
            | Event::CommandIssued { step, .. } => Some(step),
            Event::Reported { step, .. } => step.as_ref(),
            Event::ExecutionStarted { .. }
            | Event::ExecutionForked { .. }
            | Event::LoopOpened { .. }
            | Event::FrameOpened { .. }
            | Event::IterationCompleted { .. }
            | Event::IterationFailed { .. }
            | Event::CommandClaimed { .. }
            | Event::CommandCompleted { .. }
            | Event::CommandFailed { .. }
            | Event::CommandCancelled { .. }
            | Event::AttemptSuperseded { .. }
            | Event::ChildStarted { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::TimerCancelled { .. }
            | Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. } => None,
        }
    }

    /// Every payload an event carries, for moving large ones out of it.
    pub fn payloads_mut(&mut self) -> Vec<&mut Payload> {
        match self {
            Event::ExecutionStarted { workload, .. } => vec![workload],
            Event::ExecutionForked { workload, .. } => workload.iter_mut().collect(),
            Event::LoopOpened { items: ItemSource::List { values, .. }, .. } => vec![values],
            Event::FrameOpened { rows, .. } => vec![rows],
            Event::IterationCompleted { output, .. }
            | Event::StepCompleted { output, .. }
            | Event::StepFailed { output, .. } => output.iter_mut().collect(),
            Event::CommandIssued { bindings, .. } => bindings.0.values_mut().collect(),
            Event::CommandCompleted { output, .. } | Event::ExecutionCompleted { output } => {
                vec![output]
            }
            Event::CommandFailed { output, .. } => output.iter_mut().collect(),
            Event::LoopOpened { items: ItemSource::Range(_) | ItemSource::Cursor, .. }
            | Event::StepEntered { .. }
            | Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::IterationFailed { .. }
            | Event::CommandClaimed { .. }
            | Event::CommandCancelled { .. }
            | Event::AttemptSuperseded { .. }
            | Event::ChildStarted { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::TimerCancelled { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. } => Vec::new(),
        }
    }
}
