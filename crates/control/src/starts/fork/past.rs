//! The shared events of a fork: where it starts, and the decision that it may interrupt.

use std::collections::{BTreeMap, BTreeSet};

use noetl_engine::{
    ApprovalDecision, Changes, CommandResult, Execution, Input, OpenHolder, PauseRequest, Signal,
    StartInput, begin, evolve_all,
};
use noetl_model::{
    CommandId, Event, EventTag, ExecutionId, ExecutionStatus, Labels, PauseScope, Payload, Place,
    PlaybookRef, Recorded, RunId, Seq, SignalKey, SignalName, StepName, TaskAddress,
};
use serde_json::{Map, Value};

use super::{ForkAt, ForkError};
use crate::Control;
use crate::error::{Damage, LoadError};

/// The state of an execution where a fork leaves it.
pub(super) struct Past {
    pub(super) state: Execution,
    pub(super) beginning: Beginning,
}

/// The result of reading a log for a fork.
pub(super) enum PastReading {
    Past(Box<Past>),
    /// The execution is itself a fork, and the requested event is in its first decision, which
    /// cannot be told apart from the shared events.
    Begun(Begun),
}

/// The parameters of an existing fork.
pub(super) struct Begun {
    pub(super) at: Seq,
    pub(super) changes: Changes,
    pub(super) again: Vec<TaskAddress>,
}

/// The first work of a fork.
pub(super) enum Beginning {
    /// No decision is incomplete; the failed tasks in `again` are repeated.
    Settled { again: Vec<TaskAddress> },
    /// The rest of a decision: the state before it, its cause, and its events so far.
    Within { before: Option<Box<Execution>>, input: Cause, since: Vec<Trace> },
}

/// A fingerprint for comparing events; times and references of large values may differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trace {
    tag: EventTag,
    step: Option<StepName>,
}

impl Trace {
    fn of(event: &Event) -> Self {
        Self { tag: event.tag(), step: event.step().cloned() }
    }

    pub(super) fn is_like(&self, event: &Event) -> bool {
        *self == Self::of(event)
    }
}

/// The input that caused a decision.
pub(super) enum Cause {
    Start {
        playbook: PlaybookRef,
        input: Box<StartInput>,
    },
    Input(Box<Input>),
    /// A recorded fact without consequences.
    Note(Box<Event>),
}

/// The decision that is being read.
enum OpenRuns {
    Decision {
        before: Option<Box<Execution>>,
        cause: Cause,
        since: Vec<Trace>,
    },
    /// The first decision of a fork.
    Fork(Begun),
}

/// The tasks of a log that may have to be repeated. Memory does not grow with the log, except for
/// failed loop items.
#[derive(Default)]
struct Failures {
    tasks: BTreeMap<CommandId, TaskAddress>,
    /// The task that ended last in each run.
    last: BTreeMap<RunId, TaskAddress>,
    items: BTreeMap<RunId, BTreeSet<u64>>,
}

impl Failures {
    fn see(&mut self, event: &Event) {
        match event {
            Event::CommandIssued { command, task, .. } => {
                self.tasks.insert(*command, *task);
            }
            Event::CommandCompleted { command, .. }
            | Event::CommandFailed { command, .. }
            | Event::CommandCancelled { command, .. } => {
                if let Some(task) = self.tasks.remove(command) {
                    self.last.insert(task.run, task);
                }
            }
            Event::IterationFailed { run, index, .. } => {
                self.items.entry(*run).or_default().insert(*index);
            }
            Event::IterationCompleted { run, index, .. } => {
                self.items.entry(*run).or_default().remove(index);
            }
            Event::StepCompleted { run, .. } => {
                self.last.remove(run);
                self.items.remove(run);
            }
            Event::ExecutionStarted { .. }
            | Event::ExecutionForked { .. }
            | Event::StepEntered { .. }
            | Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::LoopOpened { .. }
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
            | Event::StepFailed { .. }
            | Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. } => {}
        }
    }

    /// Returns the tasks to repeat for a failed run; empty if no command took part in it.
    fn of(&self, run: RunId) -> Vec<TaskAddress> {
        match self.items.get(&run).filter(|items| !items.is_empty()) {
            Some(items) => {
                let first = |index: &u64| Place::Item { index: *index, task: 0 };
                let places = items.iter().map(first);
                places.map(|place| TaskAddress { run, place, retry: 0 }).collect()
            }
            None => {
                let last = self.last.get(&run);
                last.map(|task| TaskAddress { retry: 0, ..*task }).into_iter().collect()
            }
        }
    }
}

impl Control {
    /// Reads the shared events of a fork.
    pub(super) async fn past(
        &self,
        execution: ExecutionId,
        at: ForkAt,
    ) -> Result<PastReading, ForkError> {
        let summary = self.parts.store.summary(execution).await;
        let summary = summary.map_err(|error| LoadError::of_store(execution, error))?;
        let summary = summary.ok_or(LoadError::NotFound(execution))?;
        let until = match at {
            ForkAt::Event(seq) if seq == Seq::ZERO || seq > summary.seq => {
                return Err(ForkError::UnknownEvent(execution, seq));
            }
            ForkAt::Event(seq) => seq,
            ForkAt::Failure => match summary.status {
                ExecutionStatus::Failed | ExecutionStatus::Cancelled => summary.seq,
                status @ (ExecutionStatus::Running | ExecutionStatus::Completed) => {
                    return Err(ForkError::NotFailed { execution, status });
                }
            },
        };
        let mut reader = PastReader {
            control: self,
            execution,
            state: None,
            open: None,
            at,
            failures: Failures::default(),
        };
        loop {
            let after = reader.state.as_ref().map_or(Seq::ZERO, Execution::seq);
            let page = self.read_page(execution, after).await?;
            if page.is_empty() {
                return Err(LoadError::NotFound(execution).into());
            }
            for (recorded, next) in page.iter().zip(page.iter().skip(1).map(Some).chain([None])) {
                if let Some(read) = reader.leaves_before(recorded) {
                    return Ok(read);
                }
                reader.see(recorded, next).await?;
                if recorded.seq == until {
                    return reader.left().ok_or_else(|| LoadError::NotFound(execution).into());
                }
            }
        }
    }
}

struct PastReader<'a> {
    control: &'a Control,
    execution: ExecutionId,
    state: Option<Execution>,
    open: Option<OpenRuns>,
    at: ForkAt,
    failures: Failures,
}

impl PastReader<'_> {
    /// Returns the result if the fork has to start before this event.
    fn leaves_before(&mut self, recorded: &Recorded) -> Option<PastReading> {
        match (&recorded.event, self.at) {
            // Work that timed out is repeated with its full timeout.
            (Event::StepFailed { handled: false, .. }, ForkAt::Failure) if self.is_timed_out() => {
                self.left_before_decision()
            }
            (Event::ExecutionFailed { .. }, ForkAt::Failure) => self.left_before_decision(),
            (Event::StepFailed { run, handled: false, .. }, ForkAt::Failure) => {
                let again = self.failures.of(*run);
                if again.is_empty() {
                    return self.left();
                }
                self.open = None;
                let state = self.state.clone()?;
                let beginning = Beginning::Settled { again };
                Some(PastReading::Past(Box::new(Past { state, beginning })))
            }
            (
                Event::ExecutionCompleted { .. }
                | Event::ExecutionFailed { .. }
                | Event::ExecutionCancelled { .. },
                _,
            ) => self.left(),
            (_, ForkAt::Event(_) | ForkAt::Failure) => None,
        }
    }

    /// True if a timer caused the decision that is being read.
    fn is_timed_out(&self) -> bool {
        matches!(
            &self.open,
            Some(OpenRuns::Decision { cause: Cause::Input(input), .. })
                if matches!(**input, Input::TimerFired { .. })
        )
    }

    /// Returns the state before the decision that is being read.
    fn left_before_decision(&mut self) -> Option<PastReading> {
        match self.open.take() {
            Some(OpenRuns::Decision { before: Some(before), .. }) => {
                let beginning = Beginning::Settled { again: Vec::new() };
                Some(PastReading::Past(Box::new(Past { state: *before, beginning })))
            }
            open => {
                self.open = open;
                self.left()
            }
        }
    }

    /// Returns the state as read so far.
    fn left(&mut self) -> Option<PastReading> {
        let state = self.state.take()?;
        let beginning = match self.open.take() {
            Some(OpenRuns::Decision { before, cause, since }) => {
                Beginning::Within { before, input: cause, since }
            }
            Some(OpenRuns::Fork(begun)) => return Some(PastReading::Begun(begun)),
            None => Beginning::Settled { again: Vec::new() },
        };
        Some(PastReading::Past(Box::new(Past { state, beginning })))
    }

    /// Folds an event; `next` is the event after it, if known.
    async fn see(&mut self, recorded: &Recorded, next: Option<&Recorded>) -> Result<(), LoadError> {
        if let Some(cause) = self.cause_of(&recorded.event).await? {
            let before = self.state.clone().map(Box::new);
            self.open = Some(OpenRuns::Decision { before, cause, since: Vec::new() });
        }
        if let Event::ExecutionForked { origin, playbook, workload, context, again, .. } =
            &recorded.event
        {
            let changes = Changes::of(playbook.as_ref(), workload.as_ref(), context);
            self.open =
                Some(OpenRuns::Fork(Begun { at: origin.seq, changes, again: again.clone() }));
        }
        if let Some(OpenRuns::Decision { since, .. }) = &mut self.open {
            since.push(Trace::of(&recorded.event));
        }
        self.failures.see(&recorded.event);
        let folded = match &mut self.state {
            Some(state) => evolve_all(state, std::slice::from_ref(recorded), next),
            None => begin(self.execution, recorded).map(|state| self.state = Some(state)),
        };
        folded.map_err(|illegal| LoadError::damaged(self.execution, Damage::Illegal(illegal)))
    }

    /// Returns the cause of a decision if the event is its first one.
    #[allow(clippy::too_many_lines, reason = "one short arm per event")]
    async fn cause_of(&self, event: &Event) -> Result<Option<Cause>, LoadError> {
        let input = match event {
            Event::ExecutionStarted { .. } => return self.start_cause(event).await,
            Event::CommandClaimed { command, attempt, worker, lease_until: _, after } => {
                Input::Claim {
                    command: *command,
                    attempt: *attempt,
                    worker: worker.clone(),
                    lease: self.control.parts.settings.lease,
                    after: *after,
                }
            }
            Event::CommandParked { command, attempt, worker } => {
                Input::Park { command: *command, attempt: *attempt, worker: worker.clone() }
            }
            Event::CommandCompleted { command, output, logs, job, .. } => {
                let ended = CommandResult::Completed { output: output.clone() };
                return Ok(self.ended(*command, ended, logs, job.as_ref()));
            }
            Event::CommandFailed { command, attempt, error, output, logs, job } => {
                let held = self.holder(*command).map(|(held, _)| held);
                if let Some(attempt) = held.filter(|it| it.next() == *attempt && it.0 > 0) {
                    Input::LeaseExhausted { command: *command, attempt }
                } else {
                    let ended =
                        CommandResult::Failed { error: error.clone(), output: output.clone() };
                    return Ok(self.ended(*command, ended, logs, job.as_ref()));
                }
            }
            Event::ChildStarted { command, child } => {
                Input::ChildStarted { command: *command, child: *child }
            }
            Event::TimerFired { timer } => Input::TimerFired { timer: *timer },
            Event::SignalReceived { name, body, sender, key, correlation, actor } => {
                Input::Signal(Signal {
                    name: name.clone(),
                    body: body.clone(),
                    sender: sender.clone(),
                    key: key.clone(),
                    to: correlation.clone().and_then(|of| self.wait_for(name, of)),
                    actor: actor.clone(),
                })
            }
            Event::ApprovalDecided {
                command,
                verdict,
                actor,
                comment,
                values,
                timed_out: false,
            } => Input::Decide(ApprovalDecision {
                command: *command,
                verdict: *verdict,
                actor: actor.clone(),
                comment: comment.clone(),
                values: self.form_values(values).await?,
            }),
            Event::ExecutionPaused { .. }
            | Event::ExecutionResumed { .. }
            | Event::SlotGranted { .. } => {
                return Ok(hold_input(event).map(|input| Cause::Input(Box::new(input))));
            }
            Event::AttemptSuperseded { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. } => return Ok(Some(Cause::Note(Box::new(event.clone())))),
            Event::ExecutionForked { .. }
            | Event::StepEntered { .. }
            | Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::LoopOpened { .. }
            | Event::FrameOpened { .. }
            | Event::IterationCompleted { .. }
            | Event::IterationFailed { .. }
            | Event::CommandIssued { .. }
            | Event::WaitOpened { .. }
            | Event::SignalDelivered { .. }
            | Event::ApprovalRequested { .. }
            // The deadline of the approval is the first event of the decision.
            | Event::ApprovalDecided { timed_out: true, .. }
            | Event::SlotRequested { .. }
            | Event::CommandCancelled { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerSet { .. }
            | Event::TimerCancelled { .. }
            | Event::StepCompleted { .. }
            | Event::StepFailed { .. }
            | Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. } => return Ok(None),
        };
        Ok(Some(Cause::Input(Box::new(input))))
    }

    /// Returns the first open wait that a signal sent by correlation key may have been for.
    fn wait_for(&self, name: &SignalName, key: SignalKey) -> Option<(CommandId, SignalKey)> {
        let state = self.state.as_ref()?;
        let command = state.signal_wait(name, &key)?;
        Some((command, key))
    }

    /// Returns the values of a decision about an approval.
    async fn form_values(&self, values: &Payload) -> Result<Map<String, Value>, LoadError> {
        let values = self.control.resolve(self.execution, values).await?;
        Ok(values.as_object().cloned().unwrap_or_default())
    }

    /// Returns the start that the first event of an execution records.
    async fn start_cause(&self, event: &Event) -> Result<Option<Cause>, LoadError> {
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
        } = event
        else {
            return Ok(None);
        };
        let workload = self.control.resolve(self.execution, workload).await?;
        let Value::Object(payload) = &*workload else {
            return Err(LoadError::damaged(self.execution, Damage::NoWorkload));
        };
        let input = StartInput {
            payload: payload.clone(),
            origin: origin.clone(),
            error_mode: Some(*error_mode),
            pool: pool.clone(),
            priority: Some(*priority),
            paused: paused.clone(),
            trace: trace.clone(),
            notice: notice.clone(),
            inherited: Labels::default(),
            labels: labels.clone(),
            actor: actor.clone(),
        };
        Ok(Some(Cause::Start { playbook: playbook.clone(), input: Box::new(input) }))
    }

    fn holder(&self, command: CommandId) -> Option<(noetl_model::Attempt, OpenHolder<'_>)> {
        let mut open = self.state.as_ref()?.open_commands();
        open.find(|(id, ..)| *id == command).map(|(_, attempt, holder)| (attempt, holder))
    }

    /// Returns the report, of a worker, a child or a job, that ended a command.
    fn ended(
        &self,
        command: CommandId,
        ended: CommandResult,
        logs: &noetl_model::Logs,
        job: Option<&String>,
    ) -> Option<Cause> {
        let (attempt, holder) = self.holder(command)?;
        let input = match holder {
            OpenHolder::Worker(worker) => {
                let (worker, logs) = (worker.clone(), logs.clone());
                Input::Report { command, attempt, worker, ended, logs }
            }
            OpenHolder::Callback => Input::Callback { command, job: job.cloned(), ended },
            OpenHolder::Nobody | OpenHolder::Blocked | OpenHolder::Child => {
                Input::ChildEnded { command, ended }
            }
            // A timer, a signal or a person ends a wait, by the first event of the decision.
            OpenHolder::Wait => return None,
        };
        Some(Cause::Input(Box::new(input)))
    }
}

/// Returns the input that an event of a pause or a slot records.
fn hold_input(event: &Event) -> Option<Input> {
    if let Event::ExecutionPaused { scope, actor, reason } = event {
        return Some(Input::Pause(pause_request(*scope, actor.as_ref(), reason.as_ref())));
    }
    if let Event::ExecutionResumed { actor, reason } = event {
        let scope = PauseScope::Execution;
        return Some(Input::Resume(pause_request(scope, actor.as_ref(), reason.as_ref())));
    }
    if let Event::SlotGranted { command, limit } = event {
        return Some(Input::SlotGranted { command: *command, limit: limit.clone() });
    }
    None
}

fn pause_request(
    scope: PauseScope,
    actor: Option<&String>,
    reason: Option<&String>,
) -> PauseRequest {
    PauseRequest { scope, actor: actor.cloned(), reason: reason.cloned() }
}
