//! The timeline of an execution: when each step and command waited and ran, and its critical path.
//!
//! Invariant: memory is bounded by the open work and by [`TIMELINE_SPANS_MAX`].

mod spent;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use noetl_model::{
    CommandId, Event, ExecutionId, Recorded, RunId, StepName, TimerId, Timestamp, WorkChange,
    WorkEnd, WorkHolder,
};
use serde::Serialize;

use spent::{Activity, Meter};

pub use spent::Spent;

/// The largest number of steps, and of commands, that a timeline lists.
pub const TIMELINE_SPANS_MAX: usize = 10_000;

/// The status of a span or of the execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TimelineOutcome {
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl From<WorkEnd> for TimelineOutcome {
    fn from(end: WorkEnd) -> Self {
        match end {
            WorkEnd::Completed => Self::Completed,
            WorkEnd::Failed => Self::Failed,
            WorkEnd::Cancelled => Self::Cancelled,
        }
    }
}

/// One run of a step.
#[derive(Debug, Clone, Serialize)]
pub struct StepSpan {
    pub step: StepName,
    pub run: RunId,
    #[serde(serialize_with = "time")]
    pub entered_at: Timestamp,
    #[serde(serialize_with = "maybe_time")]
    pub ended_at: Option<Timestamp>,
    pub outcome: TimelineOutcome,
    pub commands: u64,
    /// True if the run is on the critical path.
    pub is_critical: bool,
    #[serde(flatten)]
    pub spent: Spent,
    /// The index of the span whose end led to this run.
    #[serde(skip)]
    after: Option<usize>,
}

/// One command.
#[derive(Debug, Clone, Serialize)]
pub struct CommandSpan {
    pub step: StepName,
    pub run: RunId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// The number of claims.
    pub attempts: u32,
    #[serde(serialize_with = "time")]
    pub issued_at: Timestamp,
    /// The time of the first claim.
    #[serde(serialize_with = "maybe_time")]
    pub claimed_at: Option<Timestamp>,
    /// The start of the attempt that ended the command.
    #[serde(serialize_with = "maybe_time")]
    pub started_at: Option<Timestamp>,
    #[serde(serialize_with = "maybe_time")]
    pub ended_at: Option<Timestamp>,
    pub outcome: TimelineOutcome,
}

/// The time between the last shared event and the fork, which counts for neither execution.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ForkGap {
    #[serde(serialize_with = "time")]
    pub left_at: Timestamp,
    #[serde(serialize_with = "time")]
    pub forked_at: Timestamp,
}

/// The time that an execution, its steps and its commands took.
#[derive(Debug, Clone, Serialize)]
pub struct Timeline {
    pub execution_id: i64,
    #[serde(serialize_with = "maybe_time")]
    pub started_at: Option<Timestamp>,
    /// The time of the last event.
    #[serde(serialize_with = "maybe_time")]
    pub until: Option<Timestamp>,
    pub outcome: TimelineOutcome,
    pub event_count: u64,
    pub spent: Spent,
    /// The steps on the critical path, in order.
    pub critical_path: Vec<StepName>,
    pub steps: Vec<StepSpan>,
    pub commands: Vec<CommandSpan>,
    /// True if there are more steps or commands than are listed.
    pub truncated: bool,
    /// Gaps that are not counted in `spent`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fork_gaps: Vec<ForkGap>,
}

/// A fold of events into a timeline.
#[derive(Debug, Clone)]
pub struct TimelineFold {
    execution: ExecutionId,
    started_at: Option<Timestamp>,
    meter: Meter,
    outcome: TimelineOutcome,
    event_count: u64,
    steps: Vec<StepSpan>,
    commands: Vec<CommandSpan>,
    truncated: bool,
    runs: BTreeMap<RunId, TimelineRun>,
    open: BTreeMap<CommandId, TimelineCommand>,
    timers: BTreeMap<TimerId, RunId>,
    /// The commands to be issued that wait for a slot first.
    slots: BTreeSet<CommandId>,
    /// For each step, the run that ended last: the number of its end and the index of its span.
    ended: BTreeMap<StepName, (u64, usize)>,
    ends: u64,
    last: Option<usize>,
    /// The time of the last event.
    until: Option<Timestamp>,
    fork_gaps: Vec<ForkGap>,
}

#[derive(Debug, Clone)]
struct TimelineRun {
    meter: Meter,
    span: Option<usize>,
}

#[derive(Debug, Clone)]
struct TimelineCommand {
    run: RunId,
    activity: Activity,
    span: Option<usize>,
}

impl TimelineFold {
    pub fn new(execution: ExecutionId) -> Self {
        Self {
            execution,
            started_at: None,
            meter: Meter::from(Timestamp::from_micros(0)),
            outcome: TimelineOutcome::Running,
            event_count: 0,
            steps: Vec::new(),
            commands: Vec::new(),
            truncated: false,
            runs: BTreeMap::new(),
            open: BTreeMap::new(),
            timers: BTreeMap::new(),
            slots: BTreeSet::new(),
            ended: BTreeMap::new(),
            ends: 0,
            last: None,
            until: None,
            fork_gaps: Vec::new(),
        }
    }

    pub fn see(&mut self, recorded: &Recorded) {
        let at = recorded.at;
        if self.started_at.is_none() {
            self.started_at = Some(at);
            self.meter = Meter::from(at);
        }
        self.event_count += 1;
        if let Event::ExecutionForked { .. } = &recorded.event {
            self.forked(at);
        }
        self.until = Some(at);
        if self.outcome == TimelineOutcome::Running {
            self.meter.advance(at);
        }
        if let Some(change) = recorded.event.work_change() {
            self.change_work(change, at);
        }
    }

    fn change_work(&mut self, change: WorkChange<'_>, at: Timestamp) {
        match change {
            WorkChange::StepEntered { run, step, from } => self.entered(run, step, from, at),
            WorkChange::StepEnded { run, end } => self.step_ended(run, at, end.into()),
            WorkChange::CommandIssued { command, task, step } => {
                self.issued(command, task.run, step, task.place.item(), at);
            }
            WorkChange::SlotRequested { command } => {
                self.slots.insert(command);
            }
            WorkChange::SlotGranted { command } => self.granted(command, at),
            WorkChange::CommandHeld { command, by } => {
                let claims = if let WorkHolder::Worker { claims } = by { claims } else { 0 };
                self.taken(command, Activity::of(by), claims, at);
            }
            WorkChange::CommandEnded { command, end } => {
                self.command_ended(command, at, end.into());
            }
            WorkChange::RetryDelayed { timer, task } => {
                self.timers.insert(timer, task.run);
                self.change(task.run, None, Some(Activity::Timer), at);
            }
            WorkChange::TimerEnded { timer } => {
                if let Some(run) = self.timers.remove(&timer) {
                    self.change(run, Some(Activity::Timer), None, at);
                }
            }
            WorkChange::ExecutionEnded(end) => self.outcome = end.into(),
            WorkChange::ItemEnded { .. } => {}
        }
    }

    /// Returns the timeline. A running execution is measured up to `now`.
    pub fn finish(mut self, now: Option<Timestamp>) -> Timeline {
        let still = now.filter(|_| self.outcome == TimelineOutcome::Running);
        if let (Some(now), Some(_)) = (still, self.started_at) {
            self.meter.advance(now);
            for open in self.runs.values_mut() {
                open.meter.advance(now);
            }
        }
        for open in self.runs.values() {
            if let Some(span) = open.span {
                self.steps[span].spent = open.meter.spent;
                self.steps[span].outcome = match self.outcome {
                    TimelineOutcome::Running => TimelineOutcome::Running,
                    TimelineOutcome::Completed
                    | TimelineOutcome::Failed
                    | TimelineOutcome::Cancelled => TimelineOutcome::Cancelled,
                };
            }
        }
        let open = self.runs.values().filter_map(|open| open.span).max();
        let mut next =
            if self.outcome == TimelineOutcome::Running { open.or(self.last) } else { self.last };
        let mut critical_path = Vec::new();
        while let Some(index) = next {
            let span = &mut self.steps[index];
            span.is_critical = true;
            critical_path.push(span.step.clone());
            // A span refers only to earlier ones, so the loop terminates.
            next = span.after;
        }
        critical_path.reverse();
        let started_at = self.started_at;
        let left_out = self.fork_gaps.iter().map(|gap| gap.forked_at.since(gap.left_at));
        let total = Duration::from_micros(self.meter.spent.total()) + left_out.sum::<Duration>();
        Timeline {
            execution_id: self.execution.0,
            started_at,
            until: started_at.map(|at| at.after(total)),
            outcome: self.outcome,
            event_count: self.event_count,
            spent: self.meter.spent,
            critical_path,
            steps: self.steps,
            commands: self.commands,
            truncated: self.truncated,
            fork_gaps: self.fork_gaps,
        }
    }

    /// Excludes the time between the last shared event and the fork.
    fn forked(&mut self, at: Timestamp) {
        let Some(left_at) = self.until else { return };
        self.fork_gaps.push(ForkGap { left_at, forked_at: at });
        let open = self.runs.values_mut().map(|open| &mut open.meter);
        for meter in open.chain([&mut self.meter]) {
            meter.advance(left_at);
            meter.skip(at);
        }
    }

    fn entered(&mut self, run: RunId, step: &StepName, from: &[StepName], at: Timestamp) {
        let latest = from.iter().filter_map(|step| self.ended.get(step)).max();
        let after = latest.map(|(_, span)| *span);
        let span = (self.steps.len() < TIMELINE_SPANS_MAX).then_some(self.steps.len());
        self.runs.insert(run, TimelineRun { meter: Meter::from(at), span });
        if span.is_none() {
            self.truncated = true;
            return;
        }
        self.steps.push(StepSpan {
            step: step.clone(),
            run,
            entered_at: at,
            ended_at: None,
            outcome: TimelineOutcome::Running,
            commands: 0,
            is_critical: false,
            spent: Spent::default(),
            after,
        });
    }

    fn step_ended(&mut self, run: RunId, at: Timestamp, outcome: TimelineOutcome) {
        let Some(mut open) = self.runs.remove(&run) else { return };
        open.meter.advance(at);
        let Some(index) = open.span else { return };
        let span = &mut self.steps[index];
        span.ended_at = Some(at);
        span.outcome = outcome;
        span.spent = open.meter.spent;
        self.ends += 1;
        self.ended.insert(span.step.clone(), (self.ends, index));
        self.last = Some(index);
    }

    fn issued(
        &mut self,
        command: CommandId,
        run: RunId,
        step: &StepName,
        item: Option<u64>,
        at: Timestamp,
    ) {
        let span = (self.commands.len() < TIMELINE_SPANS_MAX).then_some(self.commands.len());
        self.truncated |= span.is_none();
        let waits_for_slot = self.slots.remove(&command);
        let activity = if waits_for_slot { Activity::Slot } else { Activity::Worker };
        self.open.insert(command, TimelineCommand { run, activity, span });
        self.change(run, None, Some(activity), at);
        if let Some(of_run) = self.runs.get(&run).and_then(|open| open.span) {
            self.steps[of_run].commands += 1;
        }
        if span.is_some() {
            self.commands.push(CommandSpan {
                step: step.clone(),
                run,
                item,
                attempts: 0,
                issued_at: at,
                claimed_at: None,
                started_at: None,
                ended_at: None,
                outcome: TimelineOutcome::Running,
            });
        }
    }

    fn granted(&mut self, command: CommandId, at: Timestamp) {
        let Some(open) = self.open.get_mut(&command) else { return };
        let before = std::mem::replace(&mut open.activity, Activity::Worker);
        let run = open.run;
        self.change(run, Some(before), Some(Activity::Worker), at);
    }

    fn taken(&mut self, command: CommandId, activity: Activity, attempts: u32, at: Timestamp) {
        let Some(open) = self.open.get_mut(&command) else { return };
        let before = std::mem::replace(&mut open.activity, activity);
        let (run, span) = (open.run, open.span);
        if let Some(span) = span {
            let span = &mut self.commands[span];
            span.attempts = attempts;
            span.claimed_at.get_or_insert(at);
            span.started_at = Some(at);
        }
        self.change(run, Some(before), Some(activity), at);
    }

    fn command_ended(&mut self, command: CommandId, at: Timestamp, outcome: TimelineOutcome) {
        let Some(open) = self.open.remove(&command) else { return };
        self.change(open.run, Some(open.activity), None, at);
        if let Some(span) = open.span {
            let span = &mut self.commands[span];
            span.ended_at = Some(at);
            span.outcome = outcome;
        }
    }

    /// Changes the activity of a run in its own meter and in the execution's.
    fn change(
        &mut self,
        run: RunId,
        before: Option<Activity>,
        after: Option<Activity>,
        at: Timestamp,
    ) {
        let of_run = self.runs.get_mut(&run).map(|open| &mut open.meter);
        for meter in [Some(&mut self.meter), of_run].into_iter().flatten() {
            meter.advance(at);
            if let Some(before) = before {
                meter.end(before);
            }
            if let Some(after) = after {
                meter.begin(after);
            }
        }
    }
}

fn time<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

fn maybe_time<S: serde::Serializer>(
    at: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => time(at, serializer),
        None => serializer.serialize_none(),
    }
}
