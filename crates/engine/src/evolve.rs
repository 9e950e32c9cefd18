//! The fold: the change that each event makes to the state of its execution.
//!
//! An event that cannot follow the ones before it is [`Illegal`], so a corrupt log is detected.

mod approval;
mod command;
mod hold;
mod outcome;
mod part;
mod step;
mod wait;

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_model::{
    CommandId, Digest, Event, EventTag, ExecutionId, ExecutionStatus, ForkPoint, ItemCounts,
    Origin, PauseScope, Payload, PayloadRef, Recorded, RunId, ScopeTarget, Seq, StartPause,
    StepCounts, StepStatus, TaskAddress, Timestamp,
};
use serde_json::Value;
use thiserror::Error;

use crate::state::{
    CommandHolder, CommandState, FrameRows, LoopItem, LoopRun, NextNumbers, Pause, Pipeline, Run,
    RunBody,
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
        signal_receipts: imbl::Vector::new(),
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
}
