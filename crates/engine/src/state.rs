//! An execution as its events have left it. Data only: who changes it is `evolve`, who reads it to
//! decide is everything under `decide`.
//!
//! Maps are persistent, so that a decision can be tried on a copy at the cost of what it changes.
//! Finished loop items leave nothing behind but counters; finished steps leave their last output.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;
use noetl_model::{
    Attempt, Bindings, CommandId, Digest, ErrorMode, ExecutionId, ExecutionStatus, ForkPoint,
    ItemCounts, ItemSource, LoopMode, Origin, Parent, Payload, PlaybookRef, Pool, RunId,
    ScopeTarget, Seq, StepCounts, StepName, StepStatus, Summary, TaskAddress, TimerId,
    TimerPurpose, Timestamp, ToolError, ToolKind, WorkerId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Names and values that a `set` has written.
pub(crate) type Variables = OrdMap<String, Payload>;

/// One run of one playbook, folded from its events.
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
    /// The W3C trace context the start came with.
    pub(crate) trace: Option<Arc<Value>>,
    pub(crate) workload: Payload,
    pub(crate) context: Variables,
    pub(crate) steps: OrdMap<StepName, StepRecord>,
    pub(crate) counts: StepCounts,
    /// The items of loops that are over.
    pub(crate) items: ItemCounts,
    /// The steps that are being worked on.
    pub(crate) runs: OrdMap<RunId, Run>,
    /// Joins: the steps that have led to a step which still waits for others.
    pub(crate) awaited: OrdMap<StepName, Vec<StepName>>,
    pub(crate) commands: OrdMap<CommandId, OpenCommand>,
    pub(crate) timers: OrdMap<TimerId, OpenTimer>,
    pub(crate) drawn: Drawn,
    /// The step entered last.
    pub(crate) current: Option<StepName>,
    /// The step completed last.
    pub(crate) last: Option<StepName>,
    /// Steps that failed and that nothing took care of.
    pub(crate) failed_steps: Vec<StepName>,
    pub(crate) error: Option<ToolError>,
    /// Which attempt had a command when it ended, for those that were not their first's.
    pub(crate) contested: OrdMap<CommandId, Attempt>,
    /// The digest of the last event.
    pub(crate) head: Digest,
    /// Where it left the execution whose past it shares.
    pub(crate) fork: Option<ForkPoint>,
}

/// A timer that has not fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenTimer {
    pub(crate) purpose: TimerPurpose,
    pub(crate) set_at: Timestamp,
    pub(crate) due_at: Timestamp,
}

/// How many of each kind have been numbered so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Drawn {
    pub(crate) commands: u64,
    pub(crate) runs: u64,
    pub(crate) timers: u64,
}

/// What is kept of a step: how its latest run stands or ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepRecord {
    pub(crate) status: StepStatus,
    pub(crate) runs: u32,
    /// Of its latest ended run; null before.
    pub(crate) output: Payload,
    pub(crate) error: Option<ToolError>,
}

/// One entering of one step, until it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) step: StepName,
    pub(crate) entered: Seq,
    /// Written by `set: step.*` and by bare names of its pipeline.
    pub(crate) variables: Variables,
    pub(crate) body: Body,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Body {
    Tasks(Pipeline),
    Loop(Box<LoopRun>),
}

/// How far a list of tasks has come.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pipeline {
    /// By the task's index; a task done again replaces its result.
    pub(crate) results: BTreeMap<u32, TaskResult>,
    /// The task that ended last.
    pub(crate) last: Option<u32>,
    /// The run of a task that is under way, or was the last.
    pub(crate) task_run: Option<TaskRun>,
}

/// One run of a task: its first command, and those that rules have issued to do it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskRun {
    pub(crate) first: CommandId,
    /// How often commands of this run that have ended were claimed.
    pub(crate) attempts: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TaskResult {
    pub(crate) output: Payload,
    pub(crate) error: Option<ToolError>,
    /// From its claim to its end; nothing for what no worker did.
    pub(crate) duration_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoopRun {
    pub(crate) items: ItemSource,
    pub(crate) mode: LoopMode,
    pub(crate) in_flight_max: u32,
    /// The first item that has not been begun.
    pub(crate) next: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    /// The items being worked on.
    pub(crate) open: OrdMap<u64, Item>,
    /// Of the item that failed first.
    pub(crate) error: Option<ToolError>,
    /// The rows a cursor loop is working on.
    pub(crate) frame: Option<FrameRows>,
    /// How many frames have brought rows.
    pub(crate) frames: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) variables: Variables,
    pub(crate) pipeline: Pipeline,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FrameRows {
    /// The index of the frame's first item.
    pub(crate) first: u64,
    /// How many items it makes: its rows, or one if the body takes a frame at a time.
    pub(crate) len: u64,
    pub(crate) rows: Payload,
}

/// A command that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCommand {
    pub(crate) task: TaskAddress,
    pub(crate) step: StepName,
    pub(crate) tool: ToolKind,
    pub(crate) bindings: Bindings,
    /// The run of its task that it belongs to, as it was when the command was issued.
    pub(crate) task_run: TaskRun,
    /// The event that issued it.
    pub(crate) issued: Seq,
    pub(crate) holder: Holder,
}

/// Who has a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Holder {
    Nobody,
    Worker {
        worker: WorkerId,
        attempt: Attempt,
        lease_until: Timestamp,
        since: Timestamp,
        /// The command whose report it was handed over with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<CommandId>,
    },
    Child(ExecutionId),
}

/// Who has a command that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenHolder<'a> {
    Nobody,
    Worker(&'a WorkerId),
    Child,
}

impl Execution {
    /// Changes whenever the serialized form does, so that a snapshot of another shape is known.
    pub const SHAPE: u32 = 10;

    pub fn id(&self) -> ExecutionId {
        self.id
    }

    /// The same execution under another id: the past that a fork shares.
    #[must_use]
    pub fn shared_with(self, id: ExecutionId) -> Self {
        Self { id, ..self }
    }

    /// The last event folded.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The digest of the last event folded.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// The time of an event that happens at `now`: times never go back within an execution.
    pub fn event_time(&self, now: Timestamp) -> Timestamp {
        now.max(self.last_at)
    }

    pub fn status(&self) -> ExecutionStatus {
        self.status
    }

    pub fn playbook(&self) -> &PlaybookRef {
        &self.playbook
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The W3C trace context the start came with.
    pub fn trace(&self) -> Option<&Value> {
        self.trace.as_deref()
    }

    pub fn error_mode(&self) -> ErrorMode {
        self.error_mode
    }

    pub fn workload(&self) -> &Payload {
        &self.workload
    }

    /// How many executions stand above this one.
    pub fn depth(&self) -> u32 {
        match self.origin {
            Origin::Request => 0,
            Origin::Parent { depth, .. } | Origin::Linked { depth, .. } => depth,
        }
    }

    /// The output of a step's latest ended run.
    pub fn step_output(&self, step: &str) -> Option<&Payload> {
        self.steps.get(step).map(|record| &record.output)
    }

    /// How often a step has been entered.
    pub fn step_runs(&self, step: &str) -> u32 {
        self.steps.get(step).map_or(0, |record| record.runs)
    }

    pub fn step_status(&self, step: &str) -> Option<StepStatus> {
        self.steps.get(step).map(|record| record.status)
    }

    /// Every step that was entered or passed over, with what became of it.
    pub fn steps(&self) -> impl Iterator<Item = StepView<'_>> {
        self.steps.iter().map(|(name, record)| StepView {
            name,
            status: record.status,
            runs: record.runs,
            output: &record.output,
            error: record.error.as_ref(),
        })
    }

    /// What has been written to `ctx`.
    pub fn context(&self) -> impl Iterator<Item = (&String, &Payload)> {
        self.context.iter()
    }

    /// What has been written to a place, if there is such a place.
    pub(crate) fn variables(&self, target: ScopeTarget) -> Option<&Variables> {
        match target {
            ScopeTarget::Execution => Some(&self.context),
            ScopeTarget::Run { run } => self.runs.get(&run).map(|run| &run.variables),
            ScopeTarget::Item { run, index } => match &self.runs.get(&run)?.body {
                Body::Loop(repeat) => repeat.open.get(&index).map(|item| &item.variables),
                Body::Tasks(_) => None,
            },
        }
    }

    /// The step that an open command belongs to.
    pub fn step_of_command(&self, command: CommandId) -> Option<&StepName> {
        let run = self.commands.get(&command)?.task.run;
        self.runs.get(&run).map(|run| &run.step)
    }

    /// The event that issued a command which is open.
    pub fn issued_by(&self, command: CommandId) -> Option<Seq> {
        self.commands.get(&command).map(|open| open.issued)
    }

    /// Whether somebody has a command.
    pub fn is_held(&self, command: CommandId) -> bool {
        self.commands.get(&command).is_some_and(|open| open.holder != Holder::Nobody)
    }

    /// Whether anything is under way that will move the execution by itself.
    pub fn has_open_work(&self) -> bool {
        !self.commands.is_empty() || !self.timers.is_empty()
    }

    /// The tasks that a command works on, or that a timer will have done again.
    pub(crate) fn tasks_under_way(&self) -> impl Iterator<Item = TaskAddress> {
        let retried = self.timers.values().filter_map(|open| match open.purpose {
            TimerPurpose::Retry { task } => Some(task),
            TimerPurpose::StepTimeout { .. }
            | TimerPurpose::TaskTimeout { .. }
            | TimerPurpose::ExecutionTimeout => None,
        });
        self.commands.values().map(|open| open.task).chain(retried)
    }

    /// The commands that have not ended: how often each has been claimed, and who has it.
    pub fn open_commands(&self) -> impl Iterator<Item = (CommandId, Attempt, OpenHolder<'_>)> {
        self.commands.iter().map(|(command, open)| {
            let holder = match &open.holder {
                Holder::Nobody => OpenHolder::Nobody,
                Holder::Worker { worker, .. } => OpenHolder::Worker(worker),
                Holder::Child(_) => OpenHolder::Child,
            };
            (*command, open.attempt(), holder)
        })
    }

    /// The timers that have not fired, with when they are due.
    pub fn open_timers(&self) -> impl Iterator<Item = (TimerId, Timestamp)> {
        self.timers.iter().map(|(timer, open)| (*timer, open.due_at))
    }

    /// The row kept about the execution beside its events.
    pub fn summary(&self) -> Summary {
        let parent = match self.origin {
            Origin::Request => None,
            Origin::Parent { execution, command, .. } => Some(Parent::of(execution, Some(command))),
            Origin::Linked { execution, .. } => Some(Parent::of(execution, None)),
        };
        Summary {
            execution: self.id,
            playbook: self.playbook.clone(),
            status: self.status,
            seq: self.seq,
            started_at: self.started_at,
            ended_at: self.ended_at,
            parent,
            current_step: self.current.clone(),
            steps: self.counts,
            items: self.runs.values().fold(self.items, |items, run| items.and(run.items())),
            error: self.error.clone(),
            head: Some(self.head),
            fork: self.fork,
        }
    }
}

/// A step as an execution knows it.
#[derive(Debug, Clone, Copy)]
pub struct StepView<'a> {
    pub name: &'a StepName,
    pub status: StepStatus,
    /// How often it was entered.
    pub runs: u32,
    /// What its latest run that ended brought.
    pub output: &'a Payload,
    pub error: Option<&'a ToolError>,
}

impl OpenCommand {
    /// A command that has just been issued, as the first of its task run.
    pub(crate) fn waiting(
        (command, issued): (CommandId, Seq),
        task: TaskAddress,
        step: &StepName,
        (tool, bindings): (ToolKind, &Bindings),
    ) -> Self {
        let (step, bindings, holder) = (step.clone(), bindings.clone(), Holder::Nobody);
        let task_run = TaskRun { first: command, attempts: 0 };
        Self { task, step, tool, bindings, task_run, issued, holder }
    }

    /// How often commands of its task run have been claimed, this one included.
    pub(crate) fn attempts(&self) -> u32 {
        self.task_run.attempts.saturating_add(self.attempt().0)
    }

    /// How often it has been claimed.
    pub(crate) fn attempt(&self) -> Attempt {
        match self.holder {
            Holder::Nobody | Holder::Child(_) => Attempt(0),
            Holder::Worker { attempt, .. } => attempt,
        }
    }
}

impl Run {
    /// How far its loop has come; nothing if it has none.
    pub(crate) fn items(&self) -> ItemCounts {
        match &self.body {
            Body::Tasks(_) => ItemCounts::default(),
            Body::Loop(repeat) => ItemCounts {
                total: repeat.total(),
                completed: repeat.completed,
                failed: repeat.failed,
            },
        }
    }
}

impl LoopRun {
    /// How many items there were and how they ended.
    pub(crate) fn stats(&self) -> Value {
        json!({ "total": self.total(), "completed": self.completed, "failed": self.failed })
    }

    /// A loop that has just been opened.
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

    /// How many items there are, as far as is known.
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
