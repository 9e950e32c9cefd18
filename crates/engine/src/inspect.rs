//! Read-only views of a state for people: steps with their latest run, the arcs that were taken,
//! and the open work with what each part of it waits for.

use noetl_model::{
    ApprovalRequest, Attempt, CommandId, ExecutionId, ItemCounts, Payload, Pool, RunId, Seq,
    SkipReason, StepName, StepStatus, TaskAddress, TimerId, TimerPurpose, Timestamp, ToolError,
    ToolKind, WaitCondition, WorkerId,
};
use serde::{Deserialize, Serialize};

use crate::Execution;
use crate::state::{
    CommandHolder, CommandState, LimitSlot, OpenTimer, Pause, Run, RunBody, StepRecord,
};

/// The view of a step that was entered or skipped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepState<'a> {
    pub name: &'a StepName,
    pub status: StepStatus,
    /// The number of runs.
    pub runs: u32,
    /// The output of the latest ended run.
    pub output: &'a Payload,
    pub error: Option<&'a ToolError>,
    /// The latest skip; `None` if the step was entered since.
    pub skipped: Option<StepSkip>,
    /// The time of the first run.
    pub first_entered_at: Option<Timestamp>,
    pub latest: Option<LatestRun>,
    /// The number of loop items that have begun and not ended.
    pub items_open: u64,
}

/// The latest run of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatestRun {
    pub run: RunId,
    /// The event that entered the step.
    pub entered: Seq,
    pub entered_at: Timestamp,
    pub ended: Option<RunEnd>,
    /// The number of claims of the run's commands.
    pub attempts: u64,
    /// The progress of the run's loop; `None` if it has none.
    pub items: Option<ItemCounts>,
}

/// The event that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    pub seq: Seq,
    pub at: Timestamp,
}

/// The event that skipped a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSkip {
    pub reason: SkipReason,
    pub seq: Seq,
}

/// The number of times that an arc was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArcCount {
    pub times: u64,
    /// The event that recorded the arc last.
    pub last: Seq,
}

/// A part of the open work of an execution.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenPart<'a> {
    Command(CommandView<'a>),
    /// A task that is repeated once a timer fires.
    Retry {
        timer: TimerId,
        task: TaskAddress,
        step: Option<&'a StepName>,
        since: Timestamp,
        due_at: Timestamp,
    },
    /// A time limit. Other work is open as well.
    TimeLimit {
        timer: TimerId,
        limit: TimeLimit,
        /// The step; `None` for the limit of the execution.
        step: Option<&'a StepName>,
        since: Timestamp,
        due_at: Timestamp,
    },
    /// A join that waits for other branches.
    Join {
        step: &'a StepName,
        arrived: &'a [StepName],
    },
}

/// The extent of a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// The time by which the execution is expected to end; it goes on afterwards.
    Expected,
    Execution,
    Step,
    Task,
}

/// A command that has not ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommandView<'a> {
    pub command: CommandId,
    pub task: TaskAddress,
    pub step: &'a StepName,
    pub tool: ToolKind,
    pub pool: &'a Pool,
    /// The event that issued the command.
    pub issued: Seq,
    pub issued_at: Timestamp,
    pub waits_for: CommandWait<'a>,
}

/// The condition that an open command waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CommandWait<'a> {
    /// A worker of the pool claims the command.
    Worker,
    /// A limit grants a slot.
    Slot(&'a LimitSlot),
    /// The execution is resumed.
    Resumption(&'a Pause),
    /// A worker reports the end of the command.
    Report {
        worker: &'a WorkerId,
        attempt: Attempt,
        /// The event that claimed the command.
        claimed: Seq,
        /// The end of the lease as granted; heartbeats extend it in the store only.
        lease_until: Timestamp,
        since: Timestamp,
    },
    /// A child execution ends.
    Child {
        execution: ExecutionId,
        /// The event that recorded the start.
        started: Seq,
        since: Timestamp,
    },
    /// A time comes, or a signal arrives.
    Condition {
        condition: &'a WaitCondition,
        /// The event that opened the wait.
        opened: Seq,
        since: Timestamp,
    },
    /// A person decides.
    Approval {
        request: &'a ApprovalRequest,
        /// The event that requested the decision.
        opened: Seq,
        since: Timestamp,
    },
    /// A job that the worker has started elsewhere reports its end by a callback.
    Callback {
        worker: &'a WorkerId,
        attempt: Attempt,
        claimed_at: Timestamp,
        /// The event that parked the command.
        parked: Seq,
        since: Timestamp,
    },
}

impl Execution {
    /// Returns every step that was entered or skipped.
    pub fn steps(&self) -> impl Iterator<Item = StepState<'_>> {
        self.steps.iter().map(|(name, record)| self.step_state(name, record))
    }

    /// Returns a step; `None` if it was neither entered nor skipped.
    pub fn step(&self, name: &str) -> Option<StepState<'_>> {
        let (name, record) = self.steps.get_key_value(name)?;
        Some(self.step_state(name, record))
    }

    fn step_state<'a>(&'a self, name: &'a StepName, record: &'a StepRecord) -> StepState<'a> {
        let latest = record.latest;
        let open = latest.and_then(|latest| self.runs.get(&latest.run));
        StepState {
            name,
            status: record.status,
            runs: record.runs,
            output: &record.output,
            error: record.error.as_ref(),
            skipped: record.skipped,
            first_entered_at: record.first_entered_at,
            latest: latest.map(|latest| match open {
                None => latest,
                Some(open) => {
                    LatestRun { attempts: open.attempts, items: open.loop_items(), ..latest }
                }
            }),
            items_open: open.map_or(0, Run::open_items),
        }
    }

    /// Returns the arcs that were taken: the step that each leaves, the step it leads to, and how
    /// often it was taken.
    pub fn arcs_taken(&self) -> impl Iterator<Item = (&StepName, &StepName, ArcCount)> {
        let arcs = self.arcs.iter();
        arcs.flat_map(|(from, taken)| taken.iter().map(move |(to, count)| (from, to, *count)))
    }

    /// Returns how often an arc was taken; `None` if it was not.
    pub fn arc_taken(&self, from: &str, to: &str) -> Option<ArcCount> {
        self.arcs.get(from)?.get(to).copied()
    }

    /// Returns the number of commands, timers and joins that are open.
    pub fn open_parts_len(&self) -> usize {
        let is_part = |open: &&OpenTimer| {
            !matches!(open.purpose, TimerPurpose::WaitEnd { .. } | TimerPurpose::HeldStart)
        };
        self.commands.len() + self.timers.values().filter(is_part).count() + self.awaited.len()
    }

    /// Returns the open work: commands, then retries and time limits, then joins.
    pub fn open_parts(&self) -> impl Iterator<Item = OpenPart<'_>> {
        let commands = self.commands.iter();
        let commands = commands.map(|(command, open)| OpenPart::Command(self.view(*command, open)));
        let timers = self.timers.iter().filter_map(|(timer, open)| self.timer_part(*timer, open));
        let joins = self.awaited.iter();
        let joins = joins.map(|(step, arrived)| OpenPart::Join { step, arrived });
        commands.chain(timers).chain(joins)
    }

    /// Returns an open command.
    pub fn open_command(&self, command: CommandId) -> Option<CommandView<'_>> {
        self.commands.get(&command).map(|open| self.view(command, open))
    }

    /// Returns the event that set an open timer.
    pub fn timer_set_by(&self, timer: TimerId) -> Option<Seq> {
        self.timers.get(&timer).map(|open| open.set)
    }

    /// Returns the event that entered the step of an open run.
    pub fn run_entered_by(&self, run: RunId) -> Option<Seq> {
        self.runs.get(&run).map(|run| run.entered)
    }

    fn timer_part(&self, timer: TimerId, open: &OpenTimer) -> Option<OpenPart<'_>> {
        let (since, due_at) = (open.set_at, open.due_at);
        let step = |run: RunId| self.runs.get(&run).map(|run| &run.step);
        let limit = |limit, step| OpenPart::TimeLimit { timer, limit, step, since, due_at };
        Some(match open.purpose {
            TimerPurpose::Retry { task } => {
                OpenPart::Retry { timer, task, step: step(task.run), since, due_at }
            }
            TimerPurpose::StepTimeout { run } => limit(TimeLimit::Step, step(run)),
            // The command of the wait is a part of its own.
            TimerPurpose::WaitEnd { .. } => return None,
            TimerPurpose::HeldStart => return None,
            TimerPurpose::TaskTimeout { task } => limit(TimeLimit::Task, step(task.run)),
            TimerPurpose::ExecutionTimeout => limit(TimeLimit::Execution, None),
            TimerPurpose::Late => limit(TimeLimit::Expected, None),
        })
    }

    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    pub fn ended_at(&self) -> Option<Timestamp> {
        self.ended_at
    }

    /// Returns when the execution was found to be late; `None` if it is not.
    pub fn late_at(&self) -> Option<Timestamp> {
        self.late_at
    }

    /// Returns the time of the last folded event.
    pub fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// Returns the step entered last.
    pub fn current_step(&self) -> Option<&StepName> {
        self.current.as_ref()
    }

    /// Returns the error of the first failure that no arc handled.
    pub fn error(&self) -> Option<&ToolError> {
        self.error.as_ref()
    }
}

impl Run {
    fn open_items(&self) -> u64 {
        match &self.body {
            RunBody::Tasks(_) => 0,
            RunBody::Loop(repeat) => u64::try_from(repeat.open.len()).unwrap_or(u64::MAX),
        }
    }
}

impl Execution {
    fn view<'a>(&'a self, command: CommandId, open: &'a CommandState) -> CommandView<'a> {
        let view = open.view(command);
        let slot = self.slots.get(&command).filter(|slot| slot.granted_at.is_none());
        let waits_for = match (view.waits_for, slot, &self.paused) {
            (CommandWait::Worker, Some(slot), _) => CommandWait::Slot(slot),
            (CommandWait::Worker, None, Some(pause)) => CommandWait::Resumption(pause),
            (waits_for, _, _) => waits_for,
        };
        CommandView { waits_for, ..view }
    }
}

impl CommandState {
    fn view(&self, command: CommandId) -> CommandView<'_> {
        let waits_for = match &self.holder {
            CommandHolder::Nobody => CommandWait::Worker,
            CommandHolder::Worker { worker, attempt, lease_until, claimed, since, after: _ } => {
                CommandWait::Report {
                    worker,
                    attempt: *attempt,
                    claimed: *claimed,
                    lease_until: *lease_until,
                    since: *since,
                }
            }
            CommandHolder::Child { execution, started, since } => {
                CommandWait::Child { execution: *execution, started: *started, since: *since }
            }
            CommandHolder::Callback { worker, attempt, claimed_at, parked, since } => {
                CommandWait::Callback {
                    worker,
                    attempt: *attempt,
                    claimed_at: *claimed_at,
                    parked: *parked,
                    since: *since,
                }
            }
            CommandHolder::Wait { condition, on_timeout: _, opened, since } => {
                CommandWait::Condition { condition, opened: *opened, since: *since }
            }
            CommandHolder::Approval { request, opened, since } => {
                CommandWait::Approval { request, opened: *opened, since: *since }
            }
        };
        CommandView {
            command,
            task: self.task,
            step: &self.step,
            tool: self.tool,
            pool: &self.pool,
            issued: self.issued,
            issued_at: self.issued_at,
            waits_for,
        }
    }
}
