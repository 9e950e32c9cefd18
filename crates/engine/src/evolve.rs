//! The fold: the change that each event makes to the state of its execution.
//!
//! An event that cannot follow the ones before it is [`Illegal`], so a corrupt log is detected.

mod approval;
mod hold;
mod outcome;
mod part;
mod wait;

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_model::{
    Attempt, CommandId, Digest, Event, EventTag, ExecutionId, ExecutionStatus, ForkPoint,
    ItemCounts, ItemSource, Origin, PauseScope, Payload, PayloadRef, Place, Recorded, RunId,
    ScopeTarget, Seq, SkipReason, StartPause, StepCounts, StepName, StepStatus, TaskAddress,
    Timestamp, ToolError, WorkerId,
};
use serde_json::{Value, json};
use thiserror::Error;

use crate::inspect::{ArcCount, LatestRun, RunEnd, StepSkip};
use crate::state::{
    CacheableOutput, CommandHolder, CommandState, FrameRows, JOBS_MAX, LoopItem, LoopRun,
    NextNumbers, Pause, Pipeline, Run, RunBody, StepRecord, TaskResult, TaskRun,
};
use crate::value::assign;
use crate::{Changes, Execution};

/// An event that cannot follow the events before it: a bug, or a log that another program has
/// written to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("event {seq} ({}) cannot follow: {reason}", tag.as_str())]
pub struct Illegal {
    pub seq: Seq,
    pub tag: EventTag,
    pub reason: String,
}

/// Returns the pause of an execution whose playbook is paused when it starts.
fn start_pause(paused: &StartPause, first: &Recorded) -> Pause {
    Pause {
        scope: PauseScope::Playbook,
        actor: paused.actor.clone(),
        reason: paused.reason.clone(),
        seq: first.seq,
        since: first.at,
    }
}

/// Returns the execution that the first event begins.
pub fn begin(execution: ExecutionId, first: &Recorded) -> Result<Execution, Illegal> {
    let illegal = |reason: &str| Illegal {
        seq: first.seq,
        tag: first.event.tag(),
        reason: reason.to_owned(),
    };
    if first.seq != Seq(1) {
        return Err(illegal("the first event has number 1"));
    }
    let Event::ExecutionStarted {
        playbook,
        workload,
        origin,
        error_mode,
        pool,
        priority,
        paused,
        trace,
        notice,
        labels,
        actor,
    } = &first.event
    else {
        return Err(illegal("an execution begins by being started"));
    };
    Ok(Execution {
        id: execution,
        playbook: playbook.clone(),
        status: ExecutionStatus::Running,
        seq: first.seq,
        started_at: first.at,
        ended_at: None,
        last_at: first.at,
        origin: origin.clone(),
        error_mode: *error_mode,
        pool: pool.clone(),
        priority: *priority,
        paused: paused.as_ref().map(|paused| start_pause(paused, first)),
        own_slot: None,
        slots: imbl::OrdMap::new(),
        trace: trace.clone().map(Arc::new),
        notice: notice.clone(),
        noticed: 0,
        labels: Arc::new(labels.clone()),
        actor: actor.clone(),
        workload: workload.clone(),
        context: imbl::OrdMap::new(),
        steps: imbl::OrdMap::new(),
        arcs: imbl::OrdMap::new(),
        counts: StepCounts::default(),
        items: ItemCounts::default(),
        runs: imbl::OrdMap::new(),
        awaited: imbl::OrdMap::new(),
        commands: imbl::OrdMap::new(),
        timers: imbl::OrdMap::new(),
        drawn: NextNumbers::default(),
        current: None,
        last: None,
        late_at: None,
        failed_steps: Vec::new(),
        error: None,
        contested: imbl::OrdMap::new(),
        jobs: imbl::Vector::new(),
        signal_waits: imbl::OrdSet::new(),
        signals: imbl::Vector::new(),
        signal_keys: imbl::Vector::new(),
        decisions: imbl::Vector::new(),
        head: first.digest_after(&first.prev.unwrap_or(Digest::UNKNOWN)),
        fork: None,
    })
}

/// Folds a whole log; `None` if it is empty.
pub fn replay(
    execution: ExecutionId,
    events: impl IntoIterator<Item = Recorded>,
) -> Result<Option<Execution>, Illegal> {
    let mut state = None;
    for recorded in events {
        match &mut state {
            None => state = Some(begin(execution, &recorded)?),
            Some(state) => evolve(state, &recorded)?,
        }
    }
    Ok(state)
}

/// Folds one event. On an error the state is inconsistent and must be discarded.
pub fn evolve(state: &mut Execution, recorded: &Recorded) -> Result<(), Illegal> {
    evolve_without_digest(state, recorded)?;
    state.head = recorded.digest_after(&state.head);
    Ok(())
}

/// Folds consecutive events that are followed by `next`, with the same result as [`evolve`].
/// Digests cost more than folds, so the digest of an event is read from the event after it where
/// possible; appending to the log and verifying it detect a wrong one.
pub fn evolve_all(
    state: &mut Execution,
    events: &[Recorded],
    next: Option<&Recorded>,
) -> Result<(), Illegal> {
    for (recorded, next) in events.iter().zip(events.iter().skip(1).map(Some).chain([next])) {
        evolve_without_digest(state, recorded)?;
        let told = next.and_then(|next| next.prev);
        state.head = told.unwrap_or_else(|| recorded.digest_after(&state.head));
    }
    Ok(())
}

/// Folds one event for read-only use: the digest of the state does not change.
pub fn evolve_without_digest(state: &mut Execution, recorded: &Recorded) -> Result<(), Illegal> {
    let expected = state.seq.next();
    let folded = if recorded.seq == expected {
        fold(state, &recorded.event, recorded.at)
    } else {
        Err(format!("event {expected} is missing"))
    };
    folded.map_err(|reason| Illegal { seq: recorded.seq, tag: recorded.event.tag(), reason })
}

/// Folds an event that is not recorded yet.
#[allow(clippy::too_many_lines, reason = "one short arm per event")]
pub(crate) fn fold(state: &mut Execution, event: &Event, at: Timestamp) -> Result<(), String> {
    state.count(at);
    if state.status.is_terminal() && !changes_nothing(event) {
        return Err(format!("the execution has ended as {}", state.status));
    }
    match event {
        Event::ExecutionStarted { .. } => Err("the execution has been started before".to_owned()),
        Event::ExecutionForked { origin, playbook, workload, context, again, actor } => {
            state.actor.clone_from(actor);
            state.change(&Changes::of(playbook.as_ref(), workload.as_ref(), context));
            state.forked(*origin, again, at)
        }
        Event::StepEntered { run, step, from } => state.step_entered(*run, step, from),
        Event::StepSkipped { step, reason, from } => state.step_skipped(step, *reason, from),
        Event::StepAwaited { step, from } => state.step_awaited(step, from),
        Event::LoopOpened { run, items, mode, in_flight_max } => {
            state.loop_opened(*run, LoopRun::over(items.clone(), *mode, *in_flight_max))
        }
        Event::FrameOpened { run, frame, len, rows } => {
            state.frame_opened(*run, *frame, *len, rows)
        }
        Event::IterationCompleted { .. } | Event::IterationFailed { .. } => {
            state.iteration_changed(event)
        }
        Event::CommandIssued { command, task, step, tool, pool, bindings, cache } => {
            let (issued, given) = ((state.seq, at), (*tool, pool, bindings));
            let open = CommandState::waiting(*command, issued, *task, step, given);
            let open = CommandState { cache: cache.clone(), ..open };
            state.command_issued(*command, open)
        }
        Event::CommandClaimed { command, attempt, worker, lease_until, after } => {
            let (worker, claimed, since) = (worker.clone(), state.seq, at);
            let (attempt, until, after) = (*attempt, *lease_until, *after);
            state.command_claimed(*command, (worker, attempt, until), (claimed, since, after))
        }
        Event::CommandParked { command, attempt, worker } => {
            state.command_parked(*command, *attempt, worker, at)
        }
        Event::WaitOpened { .. } | Event::SignalReceived { .. } | Event::SignalDelivered { .. } => {
            state.wait_changed(event, at)
        }
        Event::ApprovalRequested { command, request } => {
            state.approval_requested(*command, request, at)
        }
        Event::ApprovalDecided { command, .. } => state.approval_decided(*command),
        Event::ExecutionPaused { .. }
        | Event::ExecutionResumed { .. }
        | Event::SlotRequested { .. }
        | Event::SlotGranted { .. } => state.hold_changed(event, at),
        Event::CommandCompleted { command, attempt, output, logs: _, job } => {
            state.end_command(*command, *attempt, (Some(output), None, job.as_ref()), at)
        }
        Event::CommandFailed { command, attempt, error, output, logs: _, job } => {
            state.end_command(*command, *attempt, (output.as_ref(), Some(error), job.as_ref()), at)
        }
        Event::CommandCancelled { command, .. } => state.command_cancelled(*command),
        Event::ChildStarted { command, child } => state.child_started(*command, *child, at),
        Event::ContextUpdated { target, values, large } => state.set(*target, values, large),
        Event::TimerSet { .. } | Event::TimerFired { .. } | Event::TimerCancelled { .. } => {
            state.timer_changed(event, at)
        }
        Event::StepCompleted { run, step, output } => {
            state.step_completed(*run, step, output.as_ref())
        }
        Event::StepFailed { run, step, error, handled, output } => {
            state.step_failed(*run, step, (error, *handled), output.as_ref())
        }
        Event::ExecutionCompleted { .. }
        | Event::ExecutionFailed { .. }
        | Event::ExecutionCancelled { .. }
        | Event::ExecutionLate { .. }
        | Event::NotificationRequested { .. } => state.outcome_changed(event, at),
        Event::AttemptSuperseded { .. }
        | Event::ExecutionStalled { .. }
        | Event::ExecutionRewound { .. }
        | Event::Reported { .. } => Ok(()),
    }
}

/// True if an event changes no state and may follow the terminal event.
fn changes_nothing(event: &Event) -> bool {
    matches!(
        event,
        Event::AttemptSuperseded { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. }
    )
}

impl Execution {
    /// Advances the seq and the time of the last event.
    fn count(&mut self, at: Timestamp) {
        self.seq = self.seq.next();
        self.last_at = self.event_time(at);
    }

    fn step_entered(
        &mut self,
        run: RunId,
        step: &StepName,
        from: &[StepName],
    ) -> Result<(), String> {
        if run.0 != self.drawn.runs {
            return Err(format!("run {} is next", self.drawn.runs));
        }
        self.drawn.runs += 1;
        self.arrived(step, from);
        self.current = Some(step.clone());
        let (entered, entered_at) = (self.seq, self.last_at);
        let record = self.set_status(step, StepStatus::Running);
        record.runs += 1;
        record.skipped = None;
        record.first_entered_at.get_or_insert(entered_at);
        record.latest =
            Some(LatestRun { run, entered, entered_at, ended: None, attempts: 0, items: None });
        self.runs.insert(
            run,
            Run {
                step: step.clone(),
                entered,
                attempts: 0,
                variables: imbl::OrdMap::new(),
                body: RunBody::Tasks(Pipeline::default()),
            },
        );
        Ok(())
    }

    fn step_skipped(
        &mut self,
        step: &StepName,
        reason: SkipReason,
        from: &[StepName],
    ) -> Result<(), String> {
        self.arrived(step, from);
        let skip = StepSkip { reason, seq: self.seq };
        self.set_status(step, StepStatus::Skipped).skipped = Some(skip);
        Ok(())
    }

    /// Counts the arcs that led to a step, without those counted while the step waited for others.
    fn arrived(&mut self, step: &StepName, from: &[StepName]) {
        let counted = self.awaited.remove(step).unwrap_or_default();
        for from in from.iter().filter(|from| !counted.contains(from)) {
            self.count_arc(from, step);
        }
    }

    fn count_arc(&mut self, from: &StepName, to: &StepName) {
        let last = self.seq;
        let taken = self.arcs.entry(from.clone()).or_default();
        let count = taken.entry(to.clone()).or_insert(ArcCount { times: 0, last });
        *count = ArcCount { times: count.times + 1, last };
    }

    fn step_awaited(&mut self, step: &StepName, from: &StepName) -> Result<(), String> {
        self.count_arc(from, step);
        let mut arrived = self.awaited.get(step).cloned().unwrap_or_default();
        arrived.push(from.clone());
        self.awaited.insert(step.clone(), arrived);
        Ok(())
    }

    fn loop_opened(&mut self, run: RunId, opened: LoopRun) -> Result<(), String> {
        let run = self.run_mut(run)?;
        match &run.body {
            RunBody::Loop(_) => Err("the loop is open already".to_owned()),
            RunBody::Tasks(_) => {
                run.body = RunBody::Loop(Box::new(opened));
                Ok(())
            }
        }
    }

    fn frame_opened(
        &mut self,
        run: RunId,
        frame: u64,
        len: u64,
        rows: &Payload,
    ) -> Result<(), String> {
        let repeat = self.loop_mut(run)?;
        if frame != repeat.frames {
            return Err(format!("frame {} is next", repeat.frames));
        }
        repeat.frames += 1;
        repeat.frame = Some(FrameRows { first: repeat.next, len, rows: rows.clone() });
        Ok(())
    }

    fn command_issued(&mut self, command: CommandId, mut open: CommandState) -> Result<(), String> {
        if command.0 != self.drawn.commands {
            return Err(format!("command {} is next", self.drawn.commands));
        }
        self.drawn.commands += 1;
        let run = self.run_mut(open.task.run)?;
        match (&mut run.body, open.task.place) {
            (RunBody::Tasks(_), Place::Task(_)) => {}
            (RunBody::Loop(repeat), Place::Item { index, .. }) => {
                if index == repeat.next && index < repeat.total() {
                    repeat.next += 1;
                    repeat.open.insert(index, LoopItem::default());
                } else if !repeat.open.contains_key(&index) {
                    return Err(format!("item {} is next", repeat.next));
                }
            }
            (RunBody::Loop(repeat), Place::Claim { .. }) if repeat.items == ItemSource::Cursor => {}
            (RunBody::Tasks(_) | RunBody::Loop(_), place) => {
                return Err(format!("step `{}` has no place {place:?}", run.step));
            }
        }
        let item = open.task.place.item();
        if let Ok(pipeline) = self.pipeline_mut(open.task.run, item) {
            match (open.task.retry, pipeline.task_run) {
                (1.., Some(run)) => open.task_run = run,
                (0, _) | (_, None) => pipeline.task_run = Some(open.task_run),
            }
        }
        self.commands.insert(command, open);
        Ok(())
    }

    /// Applies the changes of a fork.
    pub(crate) fn change(&mut self, changes: &Changes) {
        let Changes { playbook, workload, context } = changes;
        if let Some(playbook) = playbook {
            self.playbook = playbook.clone();
        }
        if let Some(workload) = workload {
            self.workload = workload.clone();
        }
        for (key, value) in context {
            assign(&mut self.context, key, value.clone());
        }
    }

    /// Makes the execution independent of its origin: no parent waits for it, and no worker holds
    /// its commands.
    fn forked(
        &mut self,
        origin: ForkPoint,
        again: &[TaskAddress],
        at: Timestamp,
    ) -> Result<(), String> {
        if self.seq != origin.seq.next() {
            return Err(format!("it leaves the other execution at event {}", origin.seq));
        }
        self.fork = Some(origin);
        self.signal_waits.clear();
        self.paused = None;
        self.own_slot = None;
        self.slots.clear();
        self.origin = Origin::Request;
        self.started_at = at;
        self.late_at = None;
        self.notice = None;
        self.noticed = 0;
        let commands: Vec<CommandId> = self.commands.keys().copied().collect();
        for command in commands {
            self.command_mut(command)?.holder = CommandHolder::Nobody;
        }
        let items = again.iter().filter_map(|task| Some((task.run, task.place.item()?)));
        for (run, index) in items {
            let repeat = self.loop_mut(run)?;
            if index >= repeat.next || repeat.open.contains_key(&index) || repeat.failed == 0 {
                return Err(format!("item {index} has not failed"));
            }
            repeat.failed -= 1;
            repeat.error = None;
            repeat.open.insert(index, LoopItem::default());
        }
        Ok(())
    }

    fn command_claimed(
        &mut self,
        command: CommandId,
        (worker, attempt, lease_until): (WorkerId, Attempt, Timestamp),
        (claimed, since, after): (Seq, Timestamp, Option<CommandId>),
    ) -> Result<(), String> {
        let is_blocked = self.is_blocked(command);
        let open = self.command_mut(command)?;
        if open.is_parked() || is_blocked {
            return Err(format!("command {command} is parked"));
        }
        if attempt != open.attempt().next() {
            return Err(format!("attempt {} is next", open.attempt().next()));
        }
        open.holder = CommandHolder::Worker { worker, attempt, lease_until, claimed, since, after };
        let run = open.task.run;
        self.run_mut(run)?.attempts += 1;
        Ok(())
    }

    fn command_parked(
        &mut self,
        command: CommandId,
        attempt: Attempt,
        worker: &WorkerId,
        since: Timestamp,
    ) -> Result<(), String> {
        let parked = self.seq;
        let open = self.command_mut(command)?;
        let claimed_at = match &open.holder {
            CommandHolder::Worker { worker: holder, attempt: held, since, .. }
                if holder == worker && *held == attempt =>
            {
                *since
            }
            CommandHolder::Worker { .. }
            | CommandHolder::Callback { .. }
            | CommandHolder::Nobody
            | CommandHolder::Child { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. } => {
                return Err(format!("{worker} does not hold command {command} as {attempt}"));
            }
        };
        let worker = worker.clone();
        open.holder = CommandHolder::Callback { worker, attempt, claimed_at, parked, since };
        Ok(())
    }

    /// Remembers a job whose callback has ended a command.
    fn job_ended(&mut self, job: Option<&String>) {
        let Some(job) = job else { return };
        if self.jobs.len() == JOBS_MAX {
            self.jobs.pop_front();
        }
        self.jobs.push_back(job.clone());
    }

    fn command_cancelled(&mut self, command: CommandId) -> Result<(), String> {
        let attempt = self.take_command(command)?.attempt();
        self.ended_by(command, attempt);
        Ok(())
    }

    fn child_started(
        &mut self,
        command: CommandId,
        execution: ExecutionId,
        since: Timestamp,
    ) -> Result<(), String> {
        let started = self.seq;
        self.command_mut(command)?.holder = CommandHolder::Child { execution, started, since };
        Ok(())
    }

    fn end_command(
        &mut self,
        command: CommandId,
        attempt: Attempt,
        (output, error, job): (Option<&Payload>, Option<&ToolError>, Option<&String>),
        at: Timestamp,
    ) -> Result<(), String> {
        let open = self.take_command(command)?;
        self.ended_by(command, attempt);
        self.job_ended(job);
        let task_run = TaskRun { attempts: open.attempts(), ..open.task_run };
        let output = output.cloned().unwrap_or_else(Payload::null);
        let error = error.cloned();
        let duration_ms = match open.holder {
            CommandHolder::Worker { since, .. }
            | CommandHolder::Callback { claimed_at: since, .. } => {
                u64::try_from(at.since(since).as_millis()).ok()
            }
            CommandHolder::Nobody
            | CommandHolder::Child { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. } => None,
        };
        let cached = open.cache.filter(|cache| cache.reused.is_none() && error.is_none());
        let cached = cached.map(|cache| CacheableOutput { key: cache.key, command, at });
        let result = TaskResult { output, error, duration_ms, cached };
        match open.task {
            TaskAddress { run, place: Place::Task(task), .. } => {
                self.pipeline_mut(run, None)?.keep(task, result, task_run);
            }
            TaskAddress { run, place: Place::Item { index, task }, .. } => {
                self.pipeline_mut(run, Some(index))?.keep(task, result, task_run);
            }
            TaskAddress { place: Place::Claim { .. }, .. } => {}
        }
        Ok(())
    }

    fn set(
        &mut self,
        target: ScopeTarget,
        values: &BTreeMap<String, Value>,
        large: &BTreeMap<String, PayloadRef>,
    ) -> Result<(), String> {
        let variables = match target {
            ScopeTarget::Execution => &mut self.context,
            ScopeTarget::Run { run } => &mut self.run_mut(run)?.variables,
            ScopeTarget::Item { run, index } => {
                let open = &mut self.loop_mut(run)?.open;
                &mut open.get_mut(&index).ok_or(format!("item {index} is not open"))?.variables
            }
        };
        for (key, value) in values {
            assign(variables, key, value.clone());
        }
        for (key, reference) in large {
            variables.insert(key.clone(), Payload::Ref(*reference));
        }
        Ok(())
    }

    fn step_completed(
        &mut self,
        run: RunId,
        step: &StepName,
        output: Option<&Payload>,
    ) -> Result<(), String> {
        let ended = self.take_run(run, step)?;
        let output = output.cloned().unwrap_or_else(|| ended.last_output());
        let record = self.set_status(step, StepStatus::Completed);
        record.output = output;
        record.error = None;
        self.last = Some(step.clone());
        Ok(())
    }

    fn step_failed(
        &mut self,
        run: RunId,
        step: &StepName,
        (error, handled): (&ToolError, bool),
        output: Option<&Payload>,
    ) -> Result<(), String> {
        let ended = self.take_run(run, step)?;
        let output = match (output, &ended.body) {
            (Some(output), _) => output.clone(),
            (None, RunBody::Tasks(pipeline)) => pipeline.last_output(),
            (None, RunBody::Loop(repeat)) => Payload::inline(json!({ "stats": repeat.stats() })),
        };
        let record = self.set_status(step, StepStatus::Failed);
        record.output = output;
        record.error = Some(error.clone());
        if !handled {
            self.failed_steps.push(step.clone());
            self.error.get_or_insert_with(|| error.clone());
        }
        Ok(())
    }

    fn end(&mut self, status: ExecutionStatus, at: Timestamp) -> Result<(), String> {
        let running: Vec<Run> = self.runs.values().cloned().collect();
        for run in &running {
            self.set_status(&run.step, StepStatus::Cancelled);
            self.close(run);
        }
        self.status = status;
        self.ended_at = Some(at);
        self.items = self.runs.values().fold(self.items, |items, run| items.and(run.items()));
        self.runs.clear();
        self.awaited.clear();
        self.commands.clear();
        self.timers.clear();
        self.signal_waits.clear();
        self.signals.clear();
        self.paused = None;
        self.own_slot = None;
        self.slots.clear();
        Ok(())
    }

    fn run_mut(&mut self, run: RunId) -> Result<&mut Run, String> {
        self.runs.get_mut(&run).ok_or(format!("there is no run {run}"))
    }

    fn loop_mut(&mut self, run: RunId) -> Result<&mut LoopRun, String> {
        match &mut self.run_mut(run)?.body {
            RunBody::Loop(repeat) => Ok(repeat),
            RunBody::Tasks(_) => Err(format!("run {run} has no loop")),
        }
    }

    fn pipeline_mut(&mut self, run: RunId, item: Option<u64>) -> Result<&mut Pipeline, String> {
        match (&mut self.run_mut(run)?.body, item) {
            (RunBody::Tasks(pipeline), None) => Ok(pipeline),
            (RunBody::Loop(repeat), Some(index)) => repeat
                .open
                .get_mut(&index)
                .map(|item| &mut item.pipeline)
                .ok_or(format!("item {index} is not open")),
            (RunBody::Tasks(_), Some(_)) | (RunBody::Loop(_), None) => {
                Err(format!("run {run} has no such task"))
            }
        }
    }

    fn command_mut(&mut self, command: CommandId) -> Result<&mut CommandState, String> {
        self.commands.get_mut(&command).ok_or(format!("command {command} is not open"))
    }

    /// Stores the attempt that ended a command, unless it was the first one.
    fn ended_by(&mut self, command: CommandId, attempt: Attempt) {
        if attempt > Attempt(1) {
            self.contested.insert(command, attempt);
        }
    }

    fn take_command(&mut self, command: CommandId) -> Result<CommandState, String> {
        self.signal_waits.remove(&command);
        self.slots.remove(&command);
        self.commands.remove(&command).ok_or(format!("command {command} is not open"))
    }

    fn take_run(&mut self, run: RunId, step: &StepName) -> Result<Run, String> {
        match self.runs.remove(&run) {
            Some(ended) if ended.step == *step => {
                self.items = self.items.and(ended.items());
                self.close(&ended);
                Ok(ended)
            }
            Some(ended) => Err(format!("run {run} is one of step `{}`", ended.step)),
            None => Err(format!("there is no run {run}")),
        }
    }

    /// Records the end of a run, and its counters, as the step's latest run.
    fn close(&mut self, ended: &Run) {
        let end = RunEnd { seq: self.seq, at: self.last_at };
        let record = self.steps.get_mut(&ended.step);
        if let Some(latest) = record.and_then(|record| record.latest.as_mut()) {
            latest.ended = Some(end);
            latest.attempts = ended.attempts;
            latest.items = ended.loop_items();
        }
    }

    /// Sets the status of a step, updates the counts, and returns the step's record.
    fn set_status(&mut self, step: &StepName, status: StepStatus) -> &mut StepRecord {
        if !self.steps.contains_key(step) {
            let fresh = StepRecord {
                status,
                runs: 0,
                output: Payload::null(),
                error: None,
                skipped: None,
                first_entered_at: None,
                latest: None,
            };
            self.steps.insert(step.clone(), fresh);
            if status != StepStatus::Skipped {
                self.counts.total += 1;
            }
        } else if let Some(record) = self.steps.get_mut(step) {
            let before = record.status;
            record.status = status;
            if before == StepStatus::Skipped && status != StepStatus::Skipped {
                self.counts.total += 1;
            }
            if let Some(count) = count_of(&mut self.counts, before) {
                *count = count.saturating_sub(1);
            }
        }
        if let Some(count) = count_of(&mut self.counts, status) {
            *count += 1;
        }
        self.steps.get_mut(step).expect("the record has just been put there")
    }
}

fn count_of(counts: &mut StepCounts, status: StepStatus) -> Option<&mut u32> {
    match status {
        StepStatus::Running => Some(&mut counts.running),
        StepStatus::Completed => Some(&mut counts.completed),
        StepStatus::Failed => Some(&mut counts.failed),
        StepStatus::Skipped | StepStatus::Cancelled => None,
    }
}

impl Pipeline {
    fn keep(&mut self, task: u32, result: TaskResult, task_run: TaskRun) {
        self.task_run = Some(task_run);
        self.results.insert(task, result);
        self.last = Some(task);
    }

    /// Returns the output of the task that ended last.
    pub(crate) fn last_output(&self) -> Payload {
        self.last
            .and_then(|task| self.results.get(&task))
            .map_or_else(Payload::null, |result| result.output.clone())
    }
}

impl Run {
    fn last_output(&self) -> Payload {
        match &self.body {
            RunBody::Tasks(pipeline) => pipeline.last_output(),
            RunBody::Loop(_) => Payload::null(),
        }
    }
}
