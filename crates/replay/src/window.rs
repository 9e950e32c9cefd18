//! Rows of a timeline in a window of a log: for each step, when it worked and when it waited; for
//! chosen steps, their runs and the attempts in them.
//!
//! A window begins with the state before its first event, so work that began earlier is part of it.
//!
//! Invariant: memory is bounded by the open work, by [`SEGMENTS_MAX`] per step and by
//! [`WINDOW_SPANS_MAX`].

use std::collections::{BTreeMap, BTreeSet};

use noetl_engine::{CommandWait, Execution, OpenPart};
use noetl_model::{
    CommandId, ItemWorkEnd, Recorded, RunId, Seq, StepName, TaskAddress, TimerId, Timestamp,
    WaitCondition, WorkChange, WorkEnd, WorkHolder,
};

/// The largest number of segments of a row; beyond it, neighbours are merged.
pub const SEGMENTS_MAX: usize = 200;
/// The largest number of attempts that a window lists; further ones are only counted in groups.
pub const WINDOW_SPANS_MAX: usize = 500;
/// The number of items from which the items of a run are shown in groups.
pub const ITEMS_GROUPED_FROM: u64 = 50;

/// The activity of a step; of several at once, the first of this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowActivity {
    Running,
    Child,
    WaitingForWorker,
    WaitingForSlot,
    WaitingForSignal,
    WaitingForApproval,
    WaitingForTimer,
}

impl RowActivity {
    fn of(holder: WorkHolder<'_>) -> Self {
        match holder {
            WorkHolder::Worker { .. } => Self::Running,
            WorkHolder::Child => Self::Child,
            WorkHolder::Condition(condition) => Self::of_wait(condition),
            WorkHolder::Approval => Self::WaitingForApproval,
        }
    }

    fn of_wait(condition: &WaitCondition) -> Self {
        match condition {
            WaitCondition::Time { .. } => Self::WaitingForTimer,
            WaitCondition::Signal { .. } => Self::WaitingForSignal,
        }
    }
}

/// A part of a row with one activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowSegment {
    pub activity: RowActivity,
    pub from: Timestamp,
    /// `None` if the activity goes on at the end of the window.
    pub to: Option<Timestamp>,
}

/// An attempt, or the wait before it, in a run of a chosen step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptSpan {
    pub run: RunId,
    pub item: Option<u64>,
    pub command: CommandId,
    pub activity: RowActivity,
    pub from: Timestamp,
    /// `None` if the activity goes on at the end of the window.
    pub to: Option<Timestamp>,
    /// The event that ended the activity.
    pub ended: Option<Seq>,
    /// True if the attempt ended with a failure.
    pub is_failed: bool,
}

/// Consecutive items of a loop in a run of a chosen step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemGroup {
    pub run: RunId,
    pub first: u64,
    pub last: u64,
    pub completed: u64,
    pub failed: u64,
    pub from: Timestamp,
    pub to: Timestamp,
}

/// The row of a step.
#[derive(Debug, Clone, Default)]
pub struct WindowRow {
    pub segments: Vec<RowSegment>,
    pub attempts: Vec<AttemptSpan>,
    pub groups: Vec<ItemGroup>,
}

/// A fold of the events of a window into rows.
#[derive(Debug, Clone)]
pub struct WindowFold {
    rows: BTreeMap<StepName, OpenRow>,
    expanded: BTreeSet<StepName>,
    commands: BTreeMap<CommandId, OpenAttempt>,
    timers: BTreeMap<TimerId, StepName>,
    /// The commands to be issued that wait for a slot first.
    slots: BTreeSet<CommandId>,
    /// The step of each run that is open.
    runs: BTreeMap<RunId, StepName>,
    spans: usize,
    /// True if attempts were left out.
    pub is_truncated: bool,
}

#[derive(Debug, Clone, Default)]
struct OpenRow {
    row: WindowRow,
    open: BTreeMap<RowActivity, u64>,
}

#[derive(Debug, Clone)]
struct OpenAttempt {
    step: StepName,
    run: RunId,
    item: Option<u64>,
    activity: RowActivity,
    /// The place in the row's attempts.
    span: Option<usize>,
}

impl WindowFold {
    /// Creates the fold of a window after `before`; the rows of `expanded` have attempts.
    pub fn new(before: Option<&Execution>, expanded: BTreeSet<StepName>) -> Self {
        let mut fold = Self {
            rows: BTreeMap::new(),
            expanded,
            commands: BTreeMap::new(),
            timers: BTreeMap::new(),
            slots: BTreeSet::new(),
            runs: BTreeMap::new(),
            spans: 0,
            is_truncated: false,
        };
        let Some(before) = before else { return fold };
        for step in before.steps() {
            if let Some(latest) = step.latest.filter(|latest| latest.ended.is_none()) {
                fold.runs.insert(latest.run, step.name.clone());
            }
        }
        for part in before.open_parts() {
            match part {
                OpenPart::Command(open) => {
                    let (activity, since) = match open.waits_for {
                        CommandWait::Worker | CommandWait::Resumption(_) => {
                            (RowActivity::WaitingForWorker, open.issued_at)
                        }
                        CommandWait::Slot(_) => (RowActivity::WaitingForSlot, open.issued_at),
                        CommandWait::Report { since, .. }
                        | CommandWait::Callback { claimed_at: since, .. } => {
                            (RowActivity::Running, since)
                        }
                        CommandWait::Child { since, .. } => (RowActivity::Child, since),
                        CommandWait::Approval { since, .. } => {
                            (RowActivity::WaitingForApproval, since)
                        }
                        CommandWait::Condition { condition, since, .. } => {
                            (RowActivity::of_wait(condition), since)
                        }
                    };
                    fold.begin(open.command, open.step, open.task, activity, since);
                }
                OpenPart::Retry { timer, step: Some(step), since, .. } => {
                    fold.timers.insert(timer, step.clone());
                    fold.change(step, None, Some(RowActivity::WaitingForTimer), since);
                }
                OpenPart::Retry { step: None, .. }
                | OpenPart::TimeLimit { .. }
                | OpenPart::Join { .. } => {}
            }
        }
        fold
    }

    /// Folds the next event.
    pub fn see(&mut self, recorded: &Recorded) {
        let (at, seq) = (recorded.at, recorded.seq);
        let Some(change) = recorded.event.work_change() else { return };
        match change {
            WorkChange::StepEntered { run, step, .. } => {
                self.runs.insert(run, step.clone());
            }
            WorkChange::StepEnded { run, .. } => {
                self.runs.remove(&run);
            }
            WorkChange::CommandIssued { command, task, step } => {
                let activity = match self.slots.remove(&command) {
                    true => RowActivity::WaitingForSlot,
                    false => RowActivity::WaitingForWorker,
                };
                self.begin(command, step, task, activity, at);
            }
            WorkChange::SlotRequested { command } => {
                self.slots.insert(command);
            }
            WorkChange::SlotGranted { command } => {
                self.switch(command, RowActivity::WaitingForWorker, at, seq);
            }
            WorkChange::CommandHeld { command, by } => {
                self.switch(command, RowActivity::of(by), at, seq);
            }
            WorkChange::CommandEnded { command, end } => {
                self.end(command, at, seq, end == WorkEnd::Failed);
            }
            WorkChange::ItemEnded { run, index, end } => {
                self.item_ended(run, index, end != ItemWorkEnd::Completed, at);
            }
            WorkChange::RetryDelayed { timer, task } => {
                if let Some(step) = self.runs.get(&task.run).cloned() {
                    self.change(&step, None, Some(RowActivity::WaitingForTimer), at);
                    self.timers.insert(timer, step);
                }
            }
            WorkChange::TimerEnded { timer } => {
                if let Some(step) = self.timers.remove(&timer) {
                    self.change(&step, Some(RowActivity::WaitingForTimer), None, at);
                }
            }
            WorkChange::ExecutionEnded(_) => self.close(at, seq),
        }
    }

    /// Returns the rows of steps with activity in the window.
    pub fn finish(self) -> BTreeMap<StepName, WindowRow> {
        self.rows.into_iter().map(|(step, open)| (step, open.row)).collect()
    }

    fn begin(
        &mut self,
        command: CommandId,
        step: &StepName,
        task: TaskAddress,
        activity: RowActivity,
        at: Timestamp,
    ) {
        self.change(step, None, Some(activity), at);
        let (step, run, item) = (step.clone(), task.run, task.place.item());
        let open = OpenAttempt { step, run, item, activity, span: None };
        self.commands.insert(command, open);
        self.open_span(command, at);
    }

    fn switch(&mut self, command: CommandId, activity: RowActivity, at: Timestamp, seq: Seq) {
        self.close_span(command, at, seq, false);
        let Some(open) = self.commands.get_mut(&command) else { return };
        let before = std::mem::replace(&mut open.activity, activity);
        let step = open.step.clone();
        self.change(&step, Some(before), Some(activity), at);
        self.open_span(command, at);
    }

    fn end(&mut self, command: CommandId, at: Timestamp, seq: Seq, is_failed: bool) {
        self.close_span(command, at, seq, is_failed);
        let Some(open) = self.commands.remove(&command) else { return };
        self.change(&open.step, Some(open.activity), None, at);
    }

    fn close(&mut self, at: Timestamp, seq: Seq) {
        let commands: Vec<CommandId> = self.commands.keys().copied().collect();
        commands.into_iter().for_each(|command| self.end(command, at, seq, false));
        for step in std::mem::take(&mut self.timers).into_values() {
            self.change(&step, Some(RowActivity::WaitingForTimer), None, at);
        }
    }

    fn open_span(&mut self, command: CommandId, at: Timestamp) {
        let Some(open) = self.commands.get_mut(&command) else { return };
        if !self.expanded.contains(&open.step) {
            return;
        }
        if self.spans == WINDOW_SPANS_MAX {
            self.is_truncated = true;
            return;
        }
        self.spans += 1;
        let attempts = &mut self.rows.entry(open.step.clone()).or_default().row.attempts;
        open.span = Some(attempts.len());
        let (run, item, activity) = (open.run, open.item, open.activity);
        let (from, to, ended, is_failed) = (at, None, None, false);
        attempts.push(AttemptSpan { run, item, command, activity, from, to, ended, is_failed });
    }

    fn close_span(&mut self, command: CommandId, at: Timestamp, seq: Seq, is_failed: bool) {
        let Some(open) = self.commands.get_mut(&command) else { return };
        let row = self.rows.get_mut(&open.step);
        let span = open.span.take().zip(row).and_then(|(at, row)| row.row.attempts.get_mut(at));
        if let Some(span) = span {
            span.to = Some(at);
            span.ended = Some(seq);
            span.is_failed = is_failed;
        }
    }

    /// Counts the end of an item in the group of its neighbours.
    fn item_ended(&mut self, run: RunId, index: u64, is_failed: bool, at: Timestamp) {
        let Some(step) = self.runs.get(&run).filter(|step| self.expanded.contains(*step)) else {
            return;
        };
        let groups = &mut self.rows.entry(step.clone()).or_default().row.groups;
        let first = index - index % ITEMS_GROUPED_FROM;
        let place = groups.iter().rposition(|group| group.run == run && group.first == first);
        let place = place.unwrap_or_else(|| {
            let last = first + ITEMS_GROUPED_FROM - 1;
            let (completed, failed, from, to) = (0, 0, at, at);
            groups.push(ItemGroup { run, first, last, completed, failed, from, to });
            groups.len() - 1
        });
        let group = &mut groups[place];
        if is_failed {
            group.failed += 1
        } else {
            group.completed += 1
        }
        group.to = at;
    }

    /// Changes the activities of a step, and its segments if the one that counts changes.
    fn change(
        &mut self,
        step: &StepName,
        before: Option<RowActivity>,
        after: Option<RowActivity>,
        at: Timestamp,
    ) {
        let open = self.rows.entry(step.clone()).or_default();
        let counted = open.open.keys().next().copied();
        if let Some(before) = before {
            let count = open.open.entry(before).or_insert(1);
            *count -= 1;
            if *count == 0 {
                open.open.remove(&before);
            }
        }
        if let Some(after) = after {
            *open.open.entry(after).or_insert(0) += 1;
        }
        let now = open.open.keys().next().copied();
        if counted == now {
            return;
        }
        let segments = &mut open.row.segments;
        if let Some(last) = segments.last_mut().filter(|last| last.to.is_none()) {
            last.to = Some(at);
        }
        // A step that goes on in the same instant has no gap.
        segments.retain(|segment| segment.to != Some(segment.from));
        if let Some(activity) = now {
            segments.push(RowSegment { activity, from: at, to: None });
        }
        if segments.len() > SEGMENTS_MAX {
            merge_pairs(segments);
        }
    }
}

/// Halves the number of segments: of two neighbours, the activity of the longer one counts.
fn merge_pairs(segments: &mut Vec<RowSegment>) {
    let merged = segments.chunks(2).filter_map(|pair| match pair {
        [one, next] => {
            let length = |it: &RowSegment| it.to.unwrap_or(it.from).since(it.from);
            let longer = if length(next) > length(one) { next } else { one };
            Some(RowSegment { activity: longer.activity, from: one.from, to: next.to })
        }
        [only] => Some(*only),
        [] | [_, _, _, ..] => None,
    });
    *segments = merged.collect();
}
