//! An overview of an execution: its events folded into steps, items and the outcome.
//!
//! Used for live progress and for history, so that both show the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use noetl_model::{
    CommandId, Event, ExecutionId, ExecutionStatus, ForkPoint, ItemSource, Logs, Payload, Place,
    PlaybookRef, Recorded, RunId, StepName, StepStatus, Summary, TaskAddress, TimerPurpose,
    Timestamp, ToolError, ToolKind,
};

/// The state of one execution, as far as its events have been applied.
#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) execution: ExecutionId,
    pub(crate) playbook: PlaybookRef,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) ending: Ending,
    /// The point where this fork left its origin.
    pub(crate) fork: Option<ForkPoint>,
    /// The steps, in the order in which they were first reached.
    pub(crate) steps: Vec<StepView>,
    runs: BTreeMap<RunId, usize>,
    commands: BTreeMap<CommandId, RunningCommand>,
    /// The latest failure of each loop item that has not ended.
    item_failures: BTreeMap<(RunId, u64), CommandFailure>,
    /// The runs in which an item has failed: the first failed item gives the failure of the run.
    failed_runs: BTreeSet<RunId>,
    /// The time of the last event.
    until: Timestamp,
}

/// The outcome of an execution, if it has ended.
#[derive(Debug)]
pub(crate) enum Ending {
    None,
    Completed { output: Payload },
    Failed { error: ToolError, steps: Vec<StepName> },
    Cancelled { reason: String },
}

/// One step, over all its runs.
#[derive(Debug)]
pub(crate) struct StepView {
    pub(crate) step: StepName,
    /// The status of the latest run.
    pub(crate) status: StepStatus,
    pub(crate) runs: u32,
    /// The time when the latest run began.
    pub(crate) since: Timestamp,
    /// The total duration of all runs that have ended.
    pub(crate) took: Duration,
    /// The duration of the latest run, once it has ended.
    pub(crate) run_took: Duration,
    pub(crate) items: Option<Items>,
    pub(crate) error: Option<ToolError>,
    /// The failure of the loop item that failed first; else the latest failure of a command.
    pub(crate) failure: Option<CommandFailure>,
}

impl StepView {
    fn end_run(&mut self, at: Timestamp) {
        let duration = at.since(self.since);
        self.took += duration;
        self.run_took += duration;
    }
}

/// The progress of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Items {
    /// The number of items; `None` while more may be claimed.
    pub(crate) total: Option<u64>,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
}

impl Items {
    pub(crate) fn ended(self) -> u64 {
        self.completed + self.failed
    }
}

/// The failure of a command, with its output.
#[derive(Debug, Clone)]
pub(crate) struct CommandFailure {
    pub(crate) item: Option<u64>,
    pub(crate) tool: ToolKind,
    pub(crate) error: ToolError,
    pub(crate) logs: Logs,
}

#[derive(Debug, Clone, Copy)]
struct RunningCommand {
    task: TaskAddress,
    tool: ToolKind,
}

/// The visible change made by an event; steps are indexes of [`Overview::steps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverviewChange {
    Nothing,
    StepEntered(usize),
    ItemsEnded(usize),
    StepEnded(usize),
    /// A task of the step is retried at this time, because of its latest failure.
    Retrying(usize, Timestamp),
    ExecutionEnded,
}

impl Overview {
    /// Returns the overview of an execution before its first event.
    pub(crate) fn of(summary: &Summary) -> Self {
        Self {
            execution: summary.execution,
            playbook: summary.playbook.clone(),
            started_at: summary.started_at,
            ended_at: None,
            ending: Ending::None,
            fork: summary.fork,
            steps: Vec::new(),
            runs: BTreeMap::new(),
            commands: BTreeMap::new(),
            item_failures: BTreeMap::new(),
            failed_runs: BTreeSet::new(),
            until: summary.started_at,
        }
    }

    pub(crate) fn status(&self) -> ExecutionStatus {
        match self.ending {
            Ending::None => ExecutionStatus::Running,
            Ending::Completed { .. } => ExecutionStatus::Completed,
            Ending::Failed { .. } => ExecutionStatus::Failed,
            Ending::Cancelled { .. } => ExecutionStatus::Cancelled,
        }
    }

    /// Returns the duration of an execution that has ended.
    pub(crate) fn took(&self) -> Option<Duration> {
        self.ended_at.map(|ended_at| ended_at.since(self.started_at))
    }

    /// Returns the steps whose failures were not handled.
    pub(crate) fn unhandled(&self) -> impl Iterator<Item = &StepView> {
        let steps = match &self.ending {
            Ending::Failed { steps, .. } => steps.as_slice(),
            Ending::None | Ending::Completed { .. } | Ending::Cancelled { .. } => &[],
        };
        steps.iter().filter_map(|name| self.steps.iter().find(|view| view.step == *name))
    }

    /// Applies the next event; returns the visible change.
    pub(crate) fn see(&mut self, recorded: &Recorded) -> OverviewChange {
        let at = recorded.at;
        let before = std::mem::replace(&mut self.until, at);
        match &recorded.event {
            Event::ExecutionForked { again, .. } => self.forked(again, before, at),
            Event::StepEntered { run, step, .. } => self.step_entered(*run, step, at),
            Event::StepSkipped { step, .. } => self.step_skipped(step, at),
            Event::StepCompleted { run, .. } => self.step_ended(*run, at, None),
            Event::StepFailed { run, error, .. } => self.step_ended(*run, at, Some(error)),
            Event::LoopOpened { run, items, .. } => self.loop_opened(*run, items),
            Event::IterationCompleted { run, index, error, .. } => {
                self.item_failures.remove(&(*run, *index));
                self.item_ended(*run, |items| match error {
                    None => items.completed += 1,
                    Some(_) => items.failed += 1,
                })
            }
            Event::IterationFailed { run, index, .. } => self.item_failed(*run, *index),
            Event::CommandIssued { command, task, tool, .. } => {
                self.commands.insert(*command, RunningCommand { task: *task, tool: *tool });
                OverviewChange::Nothing
            }
            Event::CommandFailed { command, error, logs, .. } => {
                self.command_failed(*command, error, logs);
                OverviewChange::Nothing
            }
            Event::CommandCompleted { command, .. } | Event::CommandCancelled { command, .. } => {
                self.commands.remove(command);
                OverviewChange::Nothing
            }
            Event::TimerSet { due_at, purpose: TimerPurpose::Retry { task }, .. } => {
                let step = self.runs.get(&task.run);
                step.map_or(OverviewChange::Nothing, |&it| OverviewChange::Retrying(it, *due_at))
            }
            Event::ExecutionCompleted { output, .. } => {
                self.ended(at, Ending::Completed { output: output.clone() })
            }
            Event::ExecutionFailed { error, steps, .. } => {
                self.ended(at, Ending::Failed { error: error.clone(), steps: steps.clone() })
            }
            Event::ExecutionCancelled { reason, .. } => {
                self.ended(at, Ending::Cancelled { reason: reason.clone() })
            }
            Event::ExecutionStarted { .. }
            | Event::StepAwaited { .. }
            | Event::FrameOpened { .. }
            | Event::CommandClaimed { .. }
            | Event::CommandParked { .. }
            | Event::WaitOpened { .. }
            | Event::SignalReceived { .. }
            | Event::SignalDelivered { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalDecided { .. }
            | Event::ExecutionPaused { .. }
            | Event::ExecutionResumed { .. }
            | Event::SlotRequested { .. }
            | Event::SlotGranted { .. }
            | Event::AttemptSuperseded { .. }
            | Event::ChildStarted { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::TimerCancelled { .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. } => OverviewChange::Nothing,
        }
    }

    /// Continues the open runs at the time of the fork: the time in between does not count, and
    /// failed items are run again.
    fn forked(
        &mut self,
        again: &[TaskAddress],
        left_at: Timestamp,
        at: Timestamp,
    ) -> OverviewChange {
        for &index in self.runs.values() {
            let view = &mut self.steps[index];
            let before = left_at.since(view.since);
            view.took += before;
            view.run_took += before;
            view.since = at;
        }
        for task in again.iter().filter(|task| task.place.item().is_some()) {
            let Some(&index) = self.runs.get(&task.run) else { continue };
            if let Some(items) = &mut self.steps[index].items {
                items.failed = items.failed.saturating_sub(1);
            }
        }
        OverviewChange::Nothing
    }

    fn step_entered(&mut self, run: RunId, step: &StepName, at: Timestamp) -> OverviewChange {
        let index = self.reached(step, at);
        let view = &mut self.steps[index];
        view.status = StepStatus::Running;
        view.runs += 1;
        view.since = at;
        view.run_took = Duration::ZERO;
        view.items = None;
        view.error = None;
        self.runs.insert(run, index);
        OverviewChange::StepEntered(index)
    }

    fn step_skipped(&mut self, step: &StepName, at: Timestamp) -> OverviewChange {
        let index = self.reached(step, at);
        self.steps[index].status = StepStatus::Skipped;
        OverviewChange::StepEnded(index)
    }

    fn step_ended(
        &mut self,
        run: RunId,
        at: Timestamp,
        error: Option<&ToolError>,
    ) -> OverviewChange {
        let Some(index) = self.runs.remove(&run) else { return OverviewChange::Nothing };
        let view = &mut self.steps[index];
        view.status = if error.is_some() { StepStatus::Failed } else { StepStatus::Completed };
        view.end_run(at);
        view.error = error.cloned();
        OverviewChange::StepEnded(index)
    }

    fn loop_opened(&mut self, run: RunId, items: &ItemSource) -> OverviewChange {
        let Some(&index) = self.runs.get(&run) else { return OverviewChange::Nothing };
        let total = match items {
            ItemSource::Range(total) | ItemSource::List { len: total, .. } => Some(*total),
            ItemSource::Cursor => None,
        };
        self.steps[index].items = Some(Items { total, completed: 0, failed: 0 });
        OverviewChange::ItemsEnded(index)
    }

    fn item_ended(&mut self, run: RunId, count: impl FnOnce(&mut Items)) -> OverviewChange {
        let Some(&index) = self.runs.get(&run) else { return OverviewChange::Nothing };
        self.steps[index].items.as_mut().map(count);
        OverviewChange::ItemsEnded(index)
    }

    fn command_failed(&mut self, command: CommandId, error: &ToolError, logs: &Logs) {
        let Some(RunningCommand { task, tool }) = self.commands.remove(&command) else { return };
        let Some(&index) = self.runs.get(&task.run) else { return };
        let item = match task.place {
            Place::Item { index, .. } => Some(index),
            Place::Task(_) | Place::Claim { .. } => None,
        };
        let failure = CommandFailure { item, tool, error: error.clone(), logs: logs.clone() };
        if let Some(item) = item {
            self.item_failures.insert((task.run, item), failure.clone());
        }
        if !self.failed_runs.contains(&task.run) {
            self.steps[index].failure = Some(failure);
        }
    }

    /// Counts a failed item, and sets the failure of the run if it is the first that failed.
    fn item_failed(&mut self, run: RunId, item: u64) -> OverviewChange {
        let failure = self.item_failures.remove(&(run, item));
        if let Some(&index) = self.runs.get(&run)
            && self.failed_runs.insert(run)
        {
            self.steps[index].failure = failure;
        }
        self.item_ended(run, |items| items.failed += 1)
    }

    fn ended(&mut self, at: Timestamp, ending: Ending) -> OverviewChange {
        self.ended_at = Some(at);
        self.ending = ending;
        for index in std::mem::take(&mut self.runs).into_values() {
            let view = &mut self.steps[index];
            view.status = StepStatus::Cancelled;
            view.end_run(at);
        }
        OverviewChange::ExecutionEnded
    }

    /// Returns the index of a step; adds the step if it is reached for the first time.
    fn reached(&mut self, step: &StepName, at: Timestamp) -> usize {
        if let Some(index) = self.steps.iter().position(|view| view.step == *step) {
            return index;
        }
        self.steps.push(StepView {
            step: step.clone(),
            status: StepStatus::Running,
            runs: 0,
            since: at,
            took: Duration::ZERO,
            run_took: Duration::ZERO,
            items: None,
            error: None,
            failure: None,
        });
        self.steps.len() - 1
    }
}

#[cfg(test)]
mod tests;
