//! The state of an execution, folded from its events. Data only: `evolve` changes it, `decide`
//! reads it.
//!
//! Maps are persistent, so that a decision can work on a copy at the cost of its changes. Of
//! finished loop items only counters remain; of finished steps, their last output.

mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;
use noetl_model::{
    Actor, ApprovalRequest, Attempt, Bindings, CacheKey, CommandCache, CommandId, Digest,
    ErrorMode, ExecutionId, ExecutionStatus, ForkPoint, ItemCounts, ItemSource, Labels,
    LimitDefinition, LoopMode, NoticeOrigin, OnConflict, Origin, PauseScope, Payload, PlaybookRef,
    Pool, Priority, RunId, Seq, SignalKey, SignalName, StepCounts, StepName, StepStatus,
    TaskAddress, TimerId, TimerPurpose, Timestamp, ToolError, ToolKind, WaitCondition, WaitTimeout,
    WorkerId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::inspect::{ArcCount, LatestRun, StepSkip};

/// Variables written by `set`, by name.
pub(crate) type SetVariables = OrdMap<String, Payload>;

/// The largest number of ended jobs that are remembered; the callback of an older one counts as new.
pub(crate) const JOBS_MAX: usize = 1000;

/// The largest number of idempotency keys of signals that are remembered; a signal with an older key
/// counts as new.
pub(crate) const SIGNAL_KEYS_MAX: usize = 1000;

/// The largest number of decided approvals that are remembered.
pub(crate) const DECISIONS_MAX: usize = 1000;

/// The state of one execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    pub(crate) id: ExecutionId,
    pub(crate) playbook: PlaybookRef,
    pub(crate) status: ExecutionStatus,
    pub(crate) seq: Seq,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    /// The latest time of any event so far.
    pub(crate) last_at: Timestamp,
    pub(crate) origin: Origin,
    pub(crate) error_mode: ErrorMode,
    pub(crate) pool: Pool,
    pub(crate) priority: Priority,
    /// The pause of the execution; `None` unless it is paused.
    pub(crate) paused: Option<Pause>,
    /// The slot that the execution itself waits for or holds.
    pub(crate) own_slot: Option<LimitSlot>,
    /// The slots that open commands wait for or hold.
    pub(crate) slots: OrdMap<CommandId, LimitSlot>,
    /// The W3C trace context of the start request.
    pub(crate) trace: Option<Arc<Value>>,
    /// The notification that started the execution, or one of its ancestors.
    pub(crate) notice: Option<NoticeOrigin>,
    /// The number of notifications requested so far.
    pub(crate) noticed: u32,
    pub(crate) labels: Arc<Labels>,
    /// The actor that requested the start or, for a fork, the fork.
    pub(crate) actor: Option<Actor>,
    pub(crate) workload: Payload,
    pub(crate) context: SetVariables,
    pub(crate) steps: OrdMap<StepName, StepRecord>,
    /// The arcs that were taken: the step an arc leaves, then the step it leads to.
    pub(crate) arcs: OrdMap<StepName, OrdMap<StepName, ArcCount>>,
    pub(crate) counts: StepCounts,
    /// The items of ended loops.
    pub(crate) items: ItemCounts,
    /// The open runs of steps.
    pub(crate) runs: OrdMap<RunId, Run>,
    /// Joins that wait, with the steps that have arrived.
    pub(crate) awaited: OrdMap<StepName, Vec<StepName>>,
    pub(crate) commands: OrdMap<CommandId, CommandState>,
    pub(crate) timers: OrdMap<TimerId, OpenTimer>,
    pub(crate) drawn: NextNumbers,
    /// The step entered last.
    pub(crate) current: Option<StepName>,
    /// The step completed last.
    pub(crate) last: Option<StepName>,
    /// The time of the event that found the execution late.
    pub(crate) late_at: Option<Timestamp>,
    /// The failed steps whose failure no arc handled.
    pub(crate) failed_steps: Vec<StepName>,
    pub(crate) error: Option<ToolError>,
    /// The attempt that ended a command, for commands not ended by their first attempt.
    pub(crate) contested: OrdMap<CommandId, Attempt>,
    /// The jobs whose callbacks have ended commands, so that a repeated callback ends no other one.
    pub(crate) jobs: imbl::Vector<String>,
    /// The commands that wait for a signal.
    pub(crate) signal_waits: imbl::OrdSet<CommandId>,
    /// Signals that no wait has taken, in the order of their arrival.
    pub(crate) signals: imbl::Vector<KeptSignal>,
    /// The last signals with an idempotency key.
    pub(crate) signal_receipts: imbl::Vector<SignalReceipt>,
    /// The last approvals that were decided.
    pub(crate) decisions: imbl::Vector<DecidedApproval>,
    /// The digest of the last event.
    pub(crate) head: Digest,
    /// For a fork, the last event shared with its origin.
    pub(crate) fork: Option<ForkPoint>,
}

/// An approval that was decided, with the events that say more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedApproval {
    pub command: CommandId,
    pub step: StepName,
    /// The index of the loop item.
    pub item: Option<u64>,
    /// The event that requested the decision.
    pub requested: Seq,
    /// The event that recorded the decision.
    pub decided: Seq,
}

/// The pause of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub scope: PauseScope,
    /// The name of the caller that paused the execution.
    pub actor: Option<String>,
    pub reason: Option<String>,
    /// The event that recorded the pause.
    pub seq: Seq,
    pub since: Timestamp,
}

/// A slot of a limit that was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitSlot {
    pub limit: LimitDefinition,
    pub on_conflict: OnConflict,
    /// The event that recorded the request.
    pub asked: Seq,
    pub asked_at: Timestamp,
    /// The event that recorded the grant.
    pub granted: Option<Seq>,
    pub granted_at: Option<Timestamp>,
}

/// A signal that was received with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignalReceipt {
    pub(crate) key: String,
    /// The digest of name and body.
    pub(crate) digest: Digest,
}

impl SignalReceipt {
    pub(crate) fn new(key: &str, name: &SignalName, body: &Payload) -> Self {
        let body = match body {
            Payload::Ref(reference) => reference.digest,
            Payload::Inline(value) => {
                Digest::of(&serde_json::to_vec(&**value).expect("a JSON value has a JSON text"))
            }
        };
        let digest = Digest::of(format!("{name} {body}").as_bytes());
        Self { key: key.to_owned(), digest }
    }
}

/// A signal that no wait has taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptSignal {
    /// The event that recorded the signal.
    pub(crate) seq: Seq,
    pub(crate) at: Timestamp,
    pub(crate) name: SignalName,
    pub(crate) body: Payload,
    pub(crate) sender: Option<String>,
    /// The person or program that sent the signal.
    pub(crate) actor: Option<Actor>,
    /// The correlation key that the signal was sent to.
    pub(crate) correlation: Option<SignalKey>,
}

impl KeptSignal {
    /// True if a wait with a name and a correlation key takes the signal.
    pub(crate) fn is_for(&self, name: &SignalName, key: Option<&SignalKey>) -> bool {
        self.name == *name && (self.correlation.is_none() || self.correlation.as_ref() == key)
    }
}

/// A timer that has not fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenTimer {
    pub(crate) purpose: TimerPurpose,
    /// The event that set the timer.
    pub(crate) set: Seq,
    pub(crate) set_at: Timestamp,
    pub(crate) due_at: Timestamp,
}

/// The next free number of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NextNumbers {
    pub(crate) commands: u64,
    pub(crate) runs: u64,
    pub(crate) timers: u64,
}

/// The record of a step: the state of its latest run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepRecord {
    pub(crate) status: StepStatus,
    pub(crate) runs: u32,
    /// The output of the latest ended run; null if none has ended.
    pub(crate) output: Payload,
    pub(crate) error: Option<ToolError>,
    /// The latest skip; `None` if the step was entered since.
    pub(crate) skipped: Option<StepSkip>,
    /// The time of the first run.
    pub(crate) first_entered_at: Option<Timestamp>,
    /// The latest run; its counters are those at its end, and zero while it is open.
    pub(crate) latest: Option<LatestRun>,
}

/// An open run of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) step: StepName,
    pub(crate) entered: Seq,
    /// The number of claims of the run's commands.
    pub(crate) attempts: u64,
    /// Variables written by `set: step.*` and by bare names in the pipeline.
    pub(crate) variables: SetVariables,
    pub(crate) body: RunBody,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum RunBody {
    Tasks(Pipeline),
    Loop(Box<LoopRun>),
}

/// The progress of a list of tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pipeline {
    /// The results by task index; a repeated task replaces its result.
    pub(crate) results: BTreeMap<u32, TaskResult>,
    /// The task that ended last.
    pub(crate) last: Option<u32>,
    /// The current or last run of a task.
    pub(crate) task_run: Option<TaskRun>,
}

/// One run of a task: its first command and those issued for retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskRun {
    pub(crate) first: CommandId,
    /// The number of claims of this run's ended commands.
    pub(crate) attempts: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TaskResult {
    pub(crate) output: Payload,
    pub(crate) error: Option<ToolError>,
    /// The time from claim to end; `None` if no worker ran the task.
    pub(crate) duration_ms: Option<u64>,
    /// The output as the cache finds it once the step, or the item of its loop, has completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cached: Option<CacheableOutput>,
}

/// An output that other executions may reuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CacheableOutput {
    pub(crate) key: CacheKey,
    pub(crate) command: CommandId,
    pub(crate) at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoopRun {
    pub(crate) items: ItemSource,
    pub(crate) mode: LoopMode,
    pub(crate) in_flight_max: u32,
    /// The first item that was not begun.
    pub(crate) next: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    /// The open items.
    pub(crate) open: OrdMap<u64, LoopItem>,
    /// The error of the item that failed first.
    pub(crate) error: Option<ToolError>,
    /// The current rows of a cursor loop.
    pub(crate) frame: Option<FrameRows>,
    /// The number of frames that had rows.
    pub(crate) frames: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoopItem {
    pub(crate) variables: SetVariables,
    pub(crate) pipeline: Pipeline,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FrameRows {
    /// The index of the frame's first item.
    pub(crate) first: u64,
    /// The number of items: one per row, or a single one if the body handles whole frames.
    pub(crate) len: u64,
    pub(crate) rows: Payload,
}

/// A command that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommandState {
    pub(crate) task: TaskAddress,
    pub(crate) step: StepName,
    pub(crate) tool: ToolKind,
    pub(crate) pool: Pool,
    pub(crate) bindings: Bindings,
    /// The run of the command's task when the command was issued.
    pub(crate) task_run: TaskRun,
    /// The event that issued the command.
    pub(crate) issued: Seq,
    pub(crate) issued_at: Timestamp,
    pub(crate) holder: CommandHolder,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cache: Option<CommandCache>,
}

/// The holder of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum CommandHolder {
    Nobody,
    Worker {
        worker: WorkerId,
        attempt: Attempt,
        lease_until: Timestamp,
        /// The event that claimed the command.
        claimed: Seq,
        since: Timestamp,
        /// The command whose report this lease was granted with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<CommandId>,
    },
    Child {
        execution: ExecutionId,
        /// The event that recorded the start.
        started: Seq,
        since: Timestamp,
    },
    /// The worker has started a job elsewhere, whose callback ends the command.
    Callback {
        worker: WorkerId,
        attempt: Attempt,
        claimed_at: Timestamp,
        /// The event that parked the command.
        parked: Seq,
        since: Timestamp,
    },
    /// The command waits for a time or a signal.
    Wait {
        condition: WaitCondition,
        on_timeout: WaitTimeout,
        /// The event that opened the wait.
        opened: Seq,
        since: Timestamp,
    },
    /// The command waits for the decision of a person.
    Approval {
        request: Arc<ApprovalRequest>,
        /// The event that requested the decision.
        opened: Seq,
        since: Timestamp,
    },
}

/// The holder of an open command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenHolder<'a> {
    Nobody,
    Worker(&'a WorkerId),
    Child,
    Callback,
    /// The command waits for a time, a signal or a person.
    Wait,
    /// No worker can claim the command: the execution is paused, or the command waits for a slot.
    Blocked,
}

impl Execution {
    /// The version of the serialized form; a snapshot with another version is not used.
    pub const SHAPE: u32 = 17;
}

impl CommandState {
    /// Returns a newly issued command, as the first of its task run.
    pub(crate) fn waiting(
        command: CommandId,
        (issued, issued_at): (Seq, Timestamp),
        task: TaskAddress,
        step: &StepName,
        (tool, pool, bindings): (ToolKind, &Pool, &Bindings),
    ) -> Self {
        let (step, bindings, holder) = (step.clone(), bindings.clone(), CommandHolder::Nobody);
        let task_run = TaskRun { first: command, attempts: 0 };
        let pool = pool.clone();
        Self { task, step, tool, pool, bindings, task_run, issued, issued_at, holder, cache: None }
    }

    /// Returns the number of claims of the task run, including this command's.
    pub(crate) fn attempts(&self) -> u32 {
        self.task_run.attempts.saturating_add(self.attempt().0)
    }

    /// Returns the number of claims of this command.
    pub(crate) fn attempt(&self) -> Attempt {
        match self.holder {
            CommandHolder::Nobody
            | CommandHolder::Child { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. } => Attempt(0),
            CommandHolder::Worker { attempt, .. } | CommandHolder::Callback { attempt, .. } => {
                attempt
            }
        }
    }

    /// True if the command waits for its child, its callback, a time, a signal or a person, so that
    /// no worker can claim it.
    pub(crate) fn is_parked(&self) -> bool {
        match self.holder {
            CommandHolder::Nobody | CommandHolder::Worker { .. } => false,
            CommandHolder::Child { .. }
            | CommandHolder::Callback { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. } => true,
        }
    }
}

impl Run {
    /// Returns the progress of the run's loop; zero if it has none.
    pub(crate) fn items(&self) -> ItemCounts {
        self.loop_items().unwrap_or_default()
    }

    /// Returns the progress of the run's loop; `None` if it has none.
    pub(crate) fn loop_items(&self) -> Option<ItemCounts> {
        match &self.body {
            RunBody::Tasks(_) => None,
            RunBody::Loop(repeat) => Some(ItemCounts {
                total: repeat.total(),
                completed: repeat.completed,
                failed: repeat.failed,
            }),
        }
    }
}

impl LoopRun {
    /// Returns the item counts as JSON.
    pub(crate) fn stats(&self) -> Value {
        json!({ "total": self.total(), "completed": self.completed, "failed": self.failed })
    }

    /// Returns a newly opened loop.
    pub(crate) fn over(items: ItemSource, mode: LoopMode, in_flight_max: u32) -> Self {
        Self {
            items,
            mode,
            in_flight_max,
            next: 0,
            completed: 0,
            failed: 0,
            open: OrdMap::new(),
            error: None,
            frame: None,
            frames: 0,
        }
    }

    /// Returns the number of items known so far.
    pub(crate) fn total(&self) -> u64 {
        match &self.items {
            ItemSource::Range(len) | ItemSource::List { len, .. } => *len,
            ItemSource::Cursor => match &self.frame {
                Some(frame) => frame.first + frame.len,
                None => self.next,
            },
        }
    }
}
