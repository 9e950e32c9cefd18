//! The events of an execution, which are appended to its log and never changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Actor, ApprovalRequest, Attempt, Bindings, CatalogId, CommandCache, CommandId, Digest,
    ErrorMode, EventId, ExecutionId, ForkPoint, Labels, LimitDefinition, LimitName, Logs,
    NoticeOrigin, NoticeReason, NoticeTarget, OnConflict, PauseScope, Payload, PayloadRef, Pool,
    Priority, RunId, Seq, SignalKey, SignalName, StepName, TimerId, Timestamp, ToolError, ToolKind,
    Verdict, WaitCondition, WaitTimeout, WorkerId,
};

/// A version of a playbook in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaybookRef {
    pub catalog_id: CatalogId,
    pub path: String,
    pub version: u32,
}

/// The initiator of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Origin {
    /// A request from outside.
    Request,
    /// A step of a parent execution, which waits for the end of this one.
    Parent {
        execution: ExecutionId,
        command: CommandId,
        /// The step whose output the parent asked for; by default the last one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        return_step: Option<StepName>,
        /// The number of ancestors of this execution.
        depth: u32,
        /// The parent's loop variables if the child was started for an item; read as `iter.parent`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iter: Option<Value>,
    },
    /// A request that names a parent execution, none of whose commands waits for this one.
    Linked {
        execution: ExecutionId,
        /// The number of ancestors of this execution.
        depth: u32,
    },
    /// An instant of a schedule, on time or made up for.
    Schedule {
        /// The path of the schedule in the catalog.
        path: String,
        instant: Timestamp,
    },
    /// A request to run another execution again.
    Rerun { execution: ExecutionId },
}

/// The pause of a playbook, as an execution that was started meanwhile records it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartPause {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The effect of a cancellation on the executions below the cancelled one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildExecutions {
    #[default]
    Cancelled,
    /// Executions below continue.
    #[serde(rename = "spared")]
    Kept,
}

impl ChildExecutions {
    pub fn is_cancelled(&self) -> bool {
        *self == Self::Cancelled
    }
}

/// The reason why a step was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The step's `when` is false.
    Guard,
    /// The step's admission rules reject it.
    Admission,
    /// The execution hit its time or work limit while the step waited for other branches.
    Stopped,
}

/// The order in which a loop handles its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopMode {
    Sequential,
    Parallel,
    Cursor,
}

/// The source of a loop's items.
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

/// The task that a command runs: a place in a run of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskAddress {
    pub run: RunId,
    pub place: Place,
    /// The number of retries that rules have requested for this task.
    pub retry: u32,
}

/// The position of a command within a run of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The n-th task of a step without a loop.
    Task(u32),
    /// The n-th task of one item of a loop.
    Item { index: u64, task: u32 },
    /// The claim of a cursor loop's n-th frame.
    Claim { frame: u64 },
}

impl Place {
    /// Returns the index of the loop item.
    pub fn item(self) -> Option<u64> {
        match self {
            Self::Item { index, .. } => Some(index),
            Self::Task(_) | Self::Claim { .. } => None,
        }
    }
}

/// The scope that a `set` writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeTarget {
    /// `ctx`: variables of the whole execution.
    Execution,
    /// `step`, and bare names in a pipeline: variables of one run of a step.
    Run { run: RunId },
    /// `iter`, and bare names in a loop's pipeline: variables of one item.
    Item { run: RunId, index: u64 },
}

/// The purpose of a durable timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerPurpose {
    Retry {
        task: TaskAddress,
    },
    StepTimeout {
        run: RunId,
    },
    /// The end of a wait for a time.
    WaitEnd {
        task: TaskAddress,
    },
    /// The check of an execution that has not begun, because it is paused or waits for a slot.
    HeldStart,
    /// The timeout of a task that waits for a child execution, a callback or a signal.
    TaskTimeout {
        task: TaskAddress,
    },
    ExecutionTimeout,
    /// The time by which the execution is expected to have ended.
    Late,
}

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $tag:literal { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* },)+) => {
        /// A fact about one execution. Events are appended, never changed.
        ///
        /// The serialized tag is stored for ever: the golden files in `tests/golden/` pin it. The
        /// Rust name is free to change.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type")]
        #[allow(clippy::large_enum_variant, reason = "the large one occurs once in a log")]
        pub enum Event {
            $($(#[$doc])* #[serde(rename = $tag)] $variant { $($(#[$field_meta])* $field: $ty,)* },)+
        }

        /// The tag of an [`Event`], as stored.
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
        /// The playbook's defaults with the caller's values merged into them.
        workload: Payload,
        origin: Origin,
        error_mode: ErrorMode,
        /// The pool of this execution's commands.
        pool: Pool,
        #[serde(default, skip_serializing_if = "Priority::is_default")]
        priority: Priority,
        /// The pause of the playbook during which the execution was started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        paused: Option<StartPause>,
        /// The W3C trace context of the start request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<Value>,
        /// The notification that started this execution, or one of its ancestors.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<NoticeOrigin>,
        /// The labels of the playbook, rendered, and those of the request and the parent.
        #[serde(default, skip_serializing_if = "Labels::is_empty")]
        labels: Labels,
        /// The person or program that requested the start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Actor>,
    },
    /// A fork starts: the events before this one are shared with another execution.
    ExecutionForked = "execution.forked" {
        origin: ForkPoint,
        /// The playbook version of the fork, if another one is used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        playbook: Option<PlaybookRef>,
        /// The workload of the fork, if another one is used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workload: Option<Payload>,
        /// Values written to `ctx` at the fork.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        context: BTreeMap<String, Value>,
        /// Failed tasks that are run again; for an item of a loop, the address of its first task.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        again: Vec<TaskAddress>,
        /// The person or program that requested the fork.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Actor>,
    },
    StepEntered = "step.entered" {
        run: RunId,
        step: StepName,
        /// The steps whose arcs led here; empty for the entry step.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from: Vec<StepName>,
    },
    StepSkipped = "step.skipped" {
        step: StepName,
        reason: SkipReason,
        /// The steps whose arcs led here; empty for the entry step.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from: Vec<StepName>,
    },
    /// An arc has led to a join that still waits for other branches.
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
    /// A claim of a cursor loop has returned rows.
    FrameOpened = "frame.opened" {
        run: RunId,
        frame: u64,
        len: u64,
        rows: Payload,
    },
    IterationCompleted = "iteration.completed" {
        run: RunId,
        index: u64,
        /// The item's output; `None` if it is the output of the item's last command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        /// The error of the item's last task if a rule handled it; the item counts as failed.
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
        /// The cache of the command's output, if its step has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<CommandCache>,
    },
    CommandClaimed = "command.claimed" {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
        lease_until: Timestamp,
        /// The command whose report included this claim, made for a worker with a free slot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<CommandId>,
    },
    /// The worker has started a job elsewhere and is done: the job's callback ends the command.
    CommandParked = "command.parked" {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
    },
    /// The command waits for a time or a signal; no worker is needed.
    WaitOpened = "wait.opened" {
        command: CommandId,
        condition: WaitCondition,
        /// The result of the wait if its timeout passes.
        #[serde(default, skip_serializing_if = "WaitTimeout::is_default")]
        on_timeout: WaitTimeout,
    },
    /// A signal was sent to the execution. It is kept until a wait takes it.
    SignalReceived = "signal.received" {
        name: SignalName,
        body: Payload,
        /// The name of the caller that sent the signal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// The idempotency key of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The correlation key that the signal was sent to: only waits with this key take it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        correlation: Option<SignalKey>,
        /// The person or program that sent the signal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Actor>,
    },
    /// A wait took the oldest signal of its name.
    SignalDelivered = "signal.delivered" {
        command: CommandId,
        /// The event that recorded the signal.
        signal: Seq,
    },
    /// The command waits for the decision of a person; no worker is needed.
    ApprovalRequested = "approval.requested" {
        command: CommandId,
        request: Arc<ApprovalRequest>,
    },
    /// An approval was decided, by a person or by its deadline.
    ApprovalDecided = "approval.decided" {
        command: CommandId,
        verdict: Verdict,
        /// The name of the person or program that decided; `None` if no name is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<String>,
        /// True if nobody has checked the name: its caller has stated it, or used a link.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        actor_stated: bool,
        /// The caller who made the link with which it was decided; `None` if it was decided without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link_by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        /// The values of the form.
        values: Payload,
        /// True if the deadline has decided.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        timed_out: bool,
    },
    CommandCompleted = "command.completed" {
        command: CommandId,
        attempt: Attempt,
        output: Payload,
        #[serde(default, skip_serializing_if = "Logs::is_empty")]
        logs: Logs,
        /// The job whose callback ended the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<String>,
    },
    CommandFailed = "command.failed" {
        command: CommandId,
        attempt: Attempt,
        error: ToolError,
        /// Output that the tool produced in spite of the failure, such as the body of a 404.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
        #[serde(default, skip_serializing_if = "Logs::is_empty")]
        logs: Logs,
        /// The job whose callback ended the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<String>,
    },
    CommandCancelled = "command.cancelled" {
        command: CommandId,
        reason: String,
        /// The effect on the child that the command waits for.
        #[serde(default, skip_serializing_if = "ChildExecutions::is_cancelled")]
        below: ChildExecutions,
    },
    /// A worker reported a command that another worker had taken over. Changes no state.
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
        /// Values above the inline limit, stored by reference.
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
        /// The step's output; `None` if it is the output of the step's last command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
    },
    StepFailed = "step.failed" {
        run: RunId,
        step: StepName,
        error: ToolError,
        /// True if an arc handles the failure.
        handled: bool,
        /// The step's output; `None` if it is the output of the step's last command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
    },
    ExecutionCompleted = "execution.completed" {
        output: Payload,
        /// The person or program that ended the execution by hand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Actor>,
    },
    ExecutionFailed = "execution.failed" {
        error: ToolError,
        /// The failed steps whose failure no arc handled.
        steps: Vec<StepName>,
        /// The person or program that ended the execution by hand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Actor>,
    },
    ExecutionCancelled = "execution.cancelled" {
        reason: String,
        /// The effect on executions that requests started below this one.
        #[serde(default, skip_serializing_if = "ChildExecutions::is_cancelled")]
        below: ChildExecutions,
        /// The person or program that requested the cancellation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Actor>,
    },
    /// No command of the execution can be claimed until it is resumed.
    ExecutionPaused = "execution.paused" {
        /// The object that was paused.
        #[serde(default, skip_serializing_if = "PauseScope::is_execution")]
        scope: PauseScope,
        /// The name of the caller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    ExecutionResumed = "execution.resumed" {
        /// The name of the caller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A command, or the execution itself, may not start before a limit grants it a slot.
    SlotRequested = "slot.requested" {
        /// The command, which the next event issues; `None` for the execution.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<CommandId>,
        limit: LimitDefinition,
        #[serde(default, skip_serializing_if = "OnConflict::is_default")]
        on_conflict: OnConflict,
    },
    SlotGranted = "slot.granted" {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<CommandId>,
        limit: LimitName,
    },
    /// The execution has not ended by the time that its playbook expects. Changes no outcome.
    ExecutionLate = "execution.late" {
        /// The time by which the execution was expected to end.
        due_at: Timestamp,
    },
    /// A notification about this execution is to be sent. Changes no outcome.
    NotificationRequested = "notification.requested" {
        reason: NoticeReason,
        /// The path of the document that asks for the notification; `None` if the playbook does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document: Option<String>,
        target: NoticeTarget,
        /// The templates that could not be rendered, and why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<String>,
    },
    /// No open work can advance this execution. Changes no state.
    ExecutionStalled = "execution.stalled" {
        detail: String,
    },
    /// The log has lost events that a server had seen committed: the database was restored, or
    /// failed over to a standby that lagged behind. Changes no state.
    ExecutionRewound = "execution.rewound" {
        /// The last event that the server had seen.
        seen: Seq,
        /// The last event of the log when the server noticed the loss.
        found: Seq,
    },
    /// An event reported by another program, on which the state does not depend.
    Reported = "reported" {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<StepName>,
        body: Value,
    },
}

/// An event with its position in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub seq: Seq,
    pub event_id: EventId,
    pub at: Timestamp,
    pub event: Event,
    /// The digest of the previous event; `None` for events stored without digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<Digest>,
}

/// Lists the payloads of an event, borrowed as the event is.
macro_rules! payloads_of {
    ($event:expr, $each:ident, $each_value:ident) => {
        match $event {
            Event::ExecutionStarted { workload, .. } => vec![workload],
            Event::ExecutionForked { workload, .. } => workload.$each().collect(),
            Event::LoopOpened { items: ItemSource::List { values, .. }, .. } => vec![values],
            Event::FrameOpened { rows, .. } => vec![rows],
            Event::IterationCompleted { output, .. }
            | Event::StepCompleted { output, .. }
            | Event::StepFailed { output, .. } => output.$each().collect(),
            Event::CommandIssued { bindings, .. } => bindings.0.$each_value().collect(),
            Event::CommandCompleted { output, .. } | Event::ExecutionCompleted { output, .. } => {
                vec![output]
            }
            Event::CommandFailed { output, .. } => output.$each().collect(),
            Event::SignalReceived { body, .. } => vec![body],
            Event::ApprovalDecided { values, .. } => vec![values],
            Event::LoopOpened { items: ItemSource::Range(_) | ItemSource::Cursor, .. }
            | Event::StepEntered { .. }
            | Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::IterationFailed { .. }
            | Event::CommandClaimed { .. }
            | Event::CommandParked { .. }
            | Event::WaitOpened { .. }
            | Event::SignalDelivered { .. }
            | Event::ApprovalRequested { .. }
            | Event::CommandCancelled { .. }
            | Event::AttemptSuperseded { .. }
            | Event::ChildStarted { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::TimerCancelled { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionPaused { .. }
            | Event::ExecutionResumed { .. }
            | Event::SlotRequested { .. }
            | Event::SlotGranted { .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. } => Vec::new(),
        }
    };
}

impl Event {
    /// Returns every payload of the event, so that large ones can be stored by reference.
    pub fn payloads_mut(&mut self) -> Vec<&mut Payload> {
        payloads_of!(self, iter_mut, values_mut)
    }

    /// Returns the digests of the large payloads that the event refers to.
    pub fn payload_digests(&self) -> Vec<Digest> {
        let mut digests = Vec::new();
        if let Event::ContextUpdated { large, .. } = self {
            digests.extend(large.values().map(|reference| reference.digest));
        }
        let payloads: Vec<&Payload> = payloads_of!(self, iter, values);
        digests.extend(payloads.into_iter().filter_map(|payload| match payload {
            Payload::Ref(reference) => Some(reference.digest),
            Payload::Inline(_) => None,
        }));
        digests
    }
}
