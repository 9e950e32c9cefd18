//! The rules that concern a single log, checked event by event.

use std::collections::{BTreeMap, BTreeSet};

use noetl_model::{
    Attempt, CommandId, ErrorKind, Event, Payload, Recorded, Seq, StepName, TimerId, Timestamp,
    ToolError, ToolKind, ToolRunner, WorkerId,
};

use crate::playbooks::ONCE;

/// The end of a command as its worker reported it.
#[derive(Debug, Clone)]
pub(super) enum ReportedEnd {
    Completed(Payload),
    Failed { error: ToolError, output: Option<Payload> },
}

/// The commands of one log.
#[derive(Debug, Default)]
pub(super) struct CommandAccount {
    /// The number of claims of each command.
    pub(super) attempts: BTreeMap<CommandId, Attempt>,
    claims: BTreeMap<(CommandId, Attempt), WorkerId>,
    /// The outcomes that workers reported.
    pub(super) outcomes: BTreeMap<(CommandId, Attempt), (WorkerId, ReportedEnd)>,
    /// The outcomes that jobs reported by callbacks.
    pub(super) called_back: BTreeMap<CommandId, (String, ReportedEnd)>,
    parked: BTreeSet<CommandId>,
    /// The number of commands that were parked.
    pub(super) parks: u64,
    /// Commands that ended without a report: cancelled, or out of attempts.
    pub(super) given_up: BTreeSet<CommandId>,
    ended: BTreeSet<CommandId>,
    /// Commands of steps that run at most once.
    once: BTreeSet<CommandId>,
    /// Commands of children and waits.
    without_worker: BTreeSet<CommandId>,
    /// Signals that no wait has taken, and the keys of all.
    signals: BTreeSet<Seq>,
    signal_keys: BTreeSet<String>,
    /// The number of signals that waits took.
    pub(super) deliveries: u64,
    /// Approvals that were decided.
    decided: BTreeSet<CommandId>,
    timers: BTreeMap<TimerId, Timestamp>,
    /// Claims that took a command over from another worker.
    pub(super) pauses: u64,
    pub(super) takeovers: u64,
    /// Reports that came after a takeover.
    pub(super) superseded: u64,
    /// Commands that ran out of attempts.
    pub(super) lost: u64,
    /// Recorded losses of events.
    pub(super) losses: u64,
    /// Commands that have reused an output.
    pub(super) reuses: u64,
    last_at: Option<Timestamp>,
    over: bool,
}

impl CommandAccount {
    /// Reads a whole log. Returns the first violation as the error.
    pub(super) fn of(log: &[Recorded]) -> Result<Self, String> {
        let mut account = Self::default();
        let mut last = Seq::ZERO;
        for recorded in log {
            if recorded.seq != last.next() {
                return Err(format!("event {} follows {last}", recorded.seq));
            }
            last = recorded.seq;
            account.read(recorded).map_err(|problem| format!("event {last}: {problem}"))?;
        }
        if !account.over {
            return Err("the execution has not ended".to_owned());
        }
        match account.attempts.keys().find(|command| !account.ended.contains(command)) {
            Some(command) => Err(format!("command {command} has no outcome")),
            None => Ok(account),
        }
    }

    #[allow(clippy::too_many_lines, reason = "one short arm per event")]
    fn read(&mut self, recorded: &Recorded) -> Result<(), String> {
        let event = &recorded.event;
        if self.last_at.replace(recorded.at).is_some_and(|last_at| recorded.at < last_at) {
            return Err("it is older than the event before it".to_owned());
        }
        if self.over {
            return self.read_after_the_end(event);
        }
        self.pauses += u64::from(matches!(event, Event::ExecutionPaused { .. }));
        self.superseded += u64::from(matches!(event, Event::AttemptSuperseded { .. }));
        match event {
            Event::CommandIssued { command, tool, step, cache, .. } => {
                if cache.as_ref().is_some_and(|cache| cache.reused.is_some()) {
                    self.reuses += 1;
                    self.without_worker.insert(*command);
                }
                self.issued(*command, *tool, step)
            }
            Event::CommandClaimed { command, attempt, worker, .. } => {
                self.claimed(*command, *attempt, worker)
            }
            Event::CommandParked { command, attempt, worker } => {
                self.parked(*command, *attempt, worker)
            }
            Event::CommandCompleted { command, attempt, output, job, .. } => {
                let end = ReportedEnd::Completed(output.clone());
                self.ended(*command, *attempt, end, job.as_ref())
            }
            Event::CommandFailed { command, attempt, error, output, job, .. } => {
                let (error, output) = (error.clone(), output.clone());
                self.ended(*command, *attempt, ReportedEnd::Failed { error, output }, job.as_ref())
            }
            Event::CommandCancelled { command, .. } => {
                self.given_up.insert(*command);
                self.end_once(*command)
            }
            Event::SignalReceived { key, .. } => self.received(recorded.seq, key.as_ref()),
            Event::SignalDelivered { signal, .. } => self.delivered(*signal),
            Event::ApprovalDecided { command, .. } => {
                let is_first = self.decided.insert(*command);
                is_first.then_some(()).ok_or(format!("approval {command} was decided twice"))
            }
            Event::TimerSet { timer, due_at, .. } => {
                self.timers.insert(*timer, *due_at);
                Ok(())
            }
            Event::TimerFired { timer } => self.fired(*timer, recorded.at),
            Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. } => {
                self.over = true;
                Ok(())
            }
            Event::ExecutionStalled { .. } => Err("it was found to be stalled".to_owned()),
            Event::ExecutionRewound { .. } => {
                self.losses += 1;
                Ok(())
            }
            Event::ExecutionStarted { .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionForked { .. }
            | Event::StepEntered { .. }
            | Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::LoopOpened { .. }
            | Event::FrameOpened { .. }
            | Event::IterationCompleted { .. }
            | Event::IterationFailed { .. }
            | Event::WaitOpened { .. }
            | Event::ApprovalRequested { .. }
            | Event::AttemptSuperseded { .. }
            | Event::ExecutionPaused { .. }
            | Event::ExecutionResumed { .. }
            | Event::SlotRequested { .. }
            | Event::SlotGranted { .. }
            | Event::ChildStarted { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerCancelled { .. }
            | Event::StepCompleted { .. }
            | Event::StepFailed { .. }
            | Event::Reported { .. } => Ok(()),
        }
    }

    fn fired(&mut self, timer: TimerId, at: Timestamp) -> Result<(), String> {
        match self.timers.remove(&timer) {
            Some(due_at) if due_at <= at => Ok(()),
            Some(due_at) => Err(format!("timer {timer} is due at {due_at} and fired before")),
            None => Err(format!("timer {timer} fired and was not set")),
        }
    }

    /// Reads an event after the terminal one, where only late facts are allowed.
    fn read_after_the_end(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::AttemptSuperseded { .. } => self.superseded += 1,
            Event::ExecutionRewound { .. } => self.losses += 1,
            Event::NotificationRequested { .. } => {}
            other => return Err(format!("{} after the end", other.tag().as_str())),
        }
        Ok(())
    }

    fn issued(
        &mut self,
        command: CommandId,
        tool: ToolKind,
        step: &StepName,
    ) -> Result<(), String> {
        if step.as_str().starts_with(ONCE) {
            self.once.insert(command);
        }
        if tool.runner() == ToolRunner::Control {
            self.without_worker.insert(command);
        }
        match self.attempts.insert(command, Attempt(0)) {
            None => Ok(()),
            Some(_) => Err(format!("command {command} was issued twice")),
        }
    }

    fn claimed(
        &mut self,
        command: CommandId,
        attempt: Attempt,
        worker: &WorkerId,
    ) -> Result<(), String> {
        let before = self.attempts.insert(command, attempt);
        if before.map(Attempt::next) != Some(attempt) || self.ended.contains(&command) {
            return Err(format!("command {command} was claimed as {attempt} after {before:?}"));
        }
        if self.parked.contains(&command) {
            return Err(format!("command {command} was claimed as {attempt} while it was parked"));
        }
        if attempt > Attempt(1) && self.once.contains(&command) {
            return Err(format!(
                "command {command} runs at most once and was claimed as {attempt}"
            ));
        }
        if attempt > Attempt(1) {
            self.takeovers += 1;
        }
        self.claims.insert((command, attempt), worker.clone());
        Ok(())
    }

    fn parked(
        &mut self,
        command: CommandId,
        attempt: Attempt,
        worker: &WorkerId,
    ) -> Result<(), String> {
        let is_held = self.attempts.get(&command) == Some(&attempt)
            && self.claims.get(&(command, attempt)) == Some(worker);
        if !is_held || self.ended.contains(&command) || !self.parked.insert(command) {
            return Err(format!("attempt {attempt} of command {command} was parked by {worker}"));
        }
        self.parks += 1;
        Ok(())
    }

    fn ended(
        &mut self,
        command: CommandId,
        attempt: Attempt,
        applied: ReportedEnd,
        job: Option<&String>,
    ) -> Result<(), String> {
        self.end_once(command)?;
        if let Some(job) = job {
            self.called_back.insert(command, (job.clone(), applied));
            return Ok(());
        }
        if self.without_worker.contains(&command) {
            return Ok(());
        }
        if let ReportedEnd::Failed { error, .. } = &applied
            && error.kind == ErrorKind::WorkerLost
        {
            self.lost += 1;
            self.given_up.insert(command);
            return Ok(());
        }
        if self.attempts.get(&command) != Some(&attempt) {
            return Err(format!("attempt {attempt} of command {command} had been superseded"));
        }
        let claim = self.claims.get(&(command, attempt));
        let worker = claim.ok_or(format!("command {command} ended before it was claimed"))?;
        self.outcomes.insert((command, attempt), (worker.clone(), applied));
        Ok(())
    }

    fn received(&mut self, signal: Seq, key: Option<&String>) -> Result<(), String> {
        self.signals.insert(signal);
        if key.is_some_and(|key| !self.signal_keys.insert(key.clone())) {
            return Err("a signal with the same key was received before".to_owned());
        }
        Ok(())
    }

    fn delivered(&mut self, signal: Seq) -> Result<(), String> {
        self.deliveries += 1;
        if !self.signals.remove(&signal) {
            return Err(format!("signal {signal} was delivered twice"));
        }
        Ok(())
    }

    fn end_once(&mut self, command: CommandId) -> Result<(), String> {
        if self.ended.insert(command) {
            Ok(())
        } else {
            Err(format!("command {command} has a second outcome"))
        }
    }
}
