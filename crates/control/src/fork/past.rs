//! The past a fork shares: where it leaves, and which decision it leaves in the middle of.

use std::collections::{BTreeMap, BTreeSet};

use noetl_engine::{Changes, Ended, Execution, Input, OpenHolder, Start, begin, evolve_all};
use noetl_model::{
    CommandId, Event, EventTag, ExecutionId, ExecutionStatus, Place, Recorded, RunId, Seq,
    StepName, TaskAddress,
};
use serde_json::Value;

use super::{ForkAt, ForkError};
use crate::Control;
use crate::error::{Damage, LoadError};

/// What an execution was like where a fork leaves it.
pub(super) struct Past {
    pub(super) state: Execution,
    pub(super) beginning: Beginning,
}

/// What was read of a log.
pub(super) enum Reading {
    Past(Box<Past>),
    /// The execution is itself a fork, and this is within its first decision: there is no telling
    /// that apart from the past it began with.
    Begun(Begun),
}

/// How a fork was begun.
pub(super) struct Begun {
    pub(super) at: Seq,
    pub(super) changes: Changes,
    pub(super) again: Vec<TaskAddress>,
}

/// What a fork has to begin with.
pub(super) enum Beginning {
    /// Nothing is owed; what failed is done again.
    Settled { again: Vec<TaskAddress> },
    /// The rest of a decision: on what it was made, why, and the events it has left so far.
    Within { before: Option<Box<Execution>>, input: Cause, since: Vec<Trace> },
}

/// What is kept of an event to know it again: times and where large values are kept may differ.
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

/// What a decision followed from.
pub(super) enum Cause {
    Start(Box<Start>),
    Input(Box<Input>),
    /// A fact that nothing followed from.
    Note(Box<Event>),
}

/// A decision that is being read.
enum Open {
    Decision {
        before: Option<Box<Execution>>,
        cause: Cause,
        since: Vec<Trace>,
    },
    /// The first of a fork.
    Fork(Begun),
}

/// What is remembered of a log for doing again what failed. It does not grow with the log, except by
/// the items of loops that failed.
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
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. } => {}
        }
    }

    /// What has to be done again for a run that failed; nothing if no command had a part in it.
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
    /// Reads the past that a fork shares.
    pub(super) async fn past(
        &self,
        execution: ExecutionId,
        at: ForkAt,
    ) -> Result<Reading, ForkError> {
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
        let mut reader = Reader {
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

struct Reader<'a> {
    control: &'a Control,
    execution: ExecutionId,
    state: Option<Execution>,
    open: Option<Open>,
    at: ForkAt,
    failures: Failures,
}

impl Reader<'_> {
    /// The past, if the fork has to leave before an event.
    fn leaves_before(&mut self, recorded: &Recorded) -> Option<Reading> {
        match (&recorded.event, self.at) {
            // What ran out of time has all of its time again.
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
                Some(Reading::Past(Box::new(Past { state, beginning })))
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

    /// Whether a timer is what the events being read follow from.
    fn is_timed_out(&self) -> bool {
        matches!(
            &self.open,
            Some(Open::Decision { cause: Cause::Input(input), .. })
                if matches!(**input, Input::TimerFired { .. })
        )
    }

    /// The past without the decision that is being read.
    fn left_before_decision(&mut self) -> Option<Reading> {
        match self.open.take() {
            Some(Open::Decision { before: Some(before), .. }) => {
                let beginning = Beginning::Settled { again: Vec::new() };
                Some(Reading::Past(Box::new(Past { state: *before, beginning })))
            }
            open => {
                self.open = open;
                self.left()
            }
        }
    }

    /// The past as it has been read so far.
    fn left(&mut self) -> Option<Reading> {
        let state = self.state.take()?;
        let beginning = match self.open.take() {
            Some(Open::Decision { before, cause, since }) => {
                Beginning::Within { before, input: cause, since }
            }
            Some(Open::Fork(begun)) => return Some(Reading::Begun(begun)),
            None => Beginning::Settled { again: Vec::new() },
        };
        Some(Reading::Past(Box::new(Past { state, beginning })))
    }

    /// Takes an event; `next` comes after it, if that is known.
    async fn see(&mut self, recorded: &Recorded, next: Option<&Recorded>) -> Result<(), LoadError> {
        if let Some(cause) = self.cause_of(&recorded.event).await? {
            let before = self.state.clone().map(Box::new);
            self.open = Some(Open::Decision { before, cause, since: Vec::new() });
        }
        if let Event::ExecutionForked { origin, playbook, workload, context, again } =
            &recorded.event
        {
            let changes = Changes::of(playbook.as_ref(), workload.as_ref(), context);
            self.open = Some(Open::Fork(Begun { at: origin.seq, changes, again: again.clone() }));
        }
        if let Some(Open::Decision { since, .. }) = &mut self.open {
            since.push(Trace::of(&recorded.event));
        }
        self.failures.see(&recorded.event);
        let folded = match &mut self.state {
            Some(state) => evolve_all(state, std::slice::from_ref(recorded), next),
            None => begin(self.execution, recorded).map(|state| self.state = Some(state)),
        };
        folded.map_err(|illegal| LoadError::damaged(self.execution, Damage::Illegal(illegal)))
    }

    /// What a decision followed from, if an event is the first of one.
    async fn cause_of(&self, event: &Event) -> Result<Option<Cause>, LoadError> {
        let input = match event {
            Event::ExecutionStarted { playbook, workload, origin, error_mode, pool, trace } => {
                let workload = self.control.resolve(self.execution, workload).await?;
                let Value::Object(payload) = &*workload else {
                    return Err(LoadError::damaged(self.execution, Damage::NoWorkload));
                };
                return Ok(Some(Cause::Start(Box::new(Start {
                    playbook: playbook.clone(),
                    payload: payload.clone(),
                    origin: origin.clone(),
                    error_mode: Some(*error_mode),
                    pool: pool.clone(),
                    trace: trace.clone(),
                }))));
            }
            Event::CommandClaimed { command, attempt, worker, lease_until: _, after } => {
                Input::Claim {
                    command: *command,
                    attempt: *attempt,
                    worker: worker.clone(),
                    lease: self.control.parts.settings.lease,
                    after: *after,
                }
            }
            Event::CommandCompleted { command, output, logs, .. } => {
                let ended = Ended::Completed { output: output.clone() };
                return Ok(self.ended(*command, ended, logs));
            }
            Event::CommandFailed { command, attempt, error, output, logs } => {
                let held = self.holder(*command).map(|(held, _)| held);
                if held.is_some_and(|held| held.next() == *attempt && held.0 > 0) {
                    let attempt = held.unwrap_or(*attempt);
                    Input::LeaseExhausted { command: *command, attempt }
                } else {
                    let ended = Ended::Failed { error: error.clone(), output: output.clone() };
                    return Ok(self.ended(*command, ended, logs));
                }
            }
            Event::ChildStarted { command, child } => {
                Input::ChildStarted { command: *command, child: *child }
            }
            Event::TimerFired { timer } => Input::TimerFired { timer: *timer },
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
            | Event::CommandCancelled { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerSet { .. }
            | Event::TimerCancelled { .. }
            | Event::StepCompleted { .. }
            | Event::StepFailed { .. }
            | Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. } => return Ok(None),
        };
        Ok(Some(Cause::Input(Box::new(input))))
    }

    fn holder(&self, command: CommandId) -> Option<(noetl_model::Attempt, OpenHolder<'_>)> {
        let mut open = self.state.as_ref()?.open_commands();
        open.find(|(id, ..)| *id == command).map(|(_, attempt, holder)| (attempt, holder))
    }

    /// The report, of a worker or of a child, that a command's end followed from.
    fn ended(&self, command: CommandId, ended: Ended, logs: &noetl_model::Logs) -> Option<Cause> {
        let (attempt, holder) = self.holder(command)?;
        let input = match holder {
            OpenHolder::Worker(worker) => {
                let (worker, logs) = (worker.clone(), logs.clone());
                Input::Report { command, attempt, worker, ended, logs }
            }
            OpenHolder::Nobody | OpenHolder::Child => Input::ChildEnded { command, ended },
        };
        Some(Cause::Input(Box::new(input)))
    }
}
