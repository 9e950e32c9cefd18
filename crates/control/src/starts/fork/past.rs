//! The shared events of a fork: where it starts, and the decision that it may interrupt.

use std::collections::{BTreeMap, BTreeSet};

use noetl_engine::{
    Changes, EventOrigin, Execution, Input, StartInput, begin, evolve_all, origin_of, recorded_form,
};
use noetl_model::{
    CommandId, Event, EventTag, ExecutionId, ExecutionStatus, ItemWorkEnd, Payload, Place,
    PlaybookRef, Recorded, RunId, Seq, StepName, TaskAddress, WorkChange, WorkEnd,
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
        let Some(change) = event.work_change() else { return };
        match change {
            WorkChange::CommandIssued { command, task, .. } => {
                self.tasks.insert(command, task);
            }
            WorkChange::CommandEnded { command, .. } => {
                if let Some(task) = self.tasks.remove(&command) {
                    self.last.insert(task.run, task);
                }
            }
            WorkChange::ItemEnded { run, index, end: ItemWorkEnd::Failed } => {
                self.items.entry(run).or_default().insert(index);
            }
            WorkChange::ItemEnded {
                run,
                index,
                end: ItemWorkEnd::Completed | ItemWorkEnd::Handled,
            } => {
                self.items.entry(run).or_default().remove(&index);
            }
            WorkChange::StepEnded { run, end: WorkEnd::Completed } => {
                self.last.remove(&run);
                self.items.remove(&run);
            }
            WorkChange::StepEnded { run: _, end: WorkEnd::Failed | WorkEnd::Cancelled }
            | WorkChange::StepEntered { .. }
            | WorkChange::SlotRequested { .. }
            | WorkChange::SlotGranted { .. }
            | WorkChange::CommandHeld { .. }
            | WorkChange::RetryDelayed { .. }
            | WorkChange::TimerEnded { .. }
            | WorkChange::ExecutionEnded(_) => {}
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
        if let Some(cause) = self.cause_of(recorded).await? {
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
    async fn cause_of(&self, recorded: &Recorded) -> Result<Option<Cause>, LoadError> {
        let event = &recorded.event;
        if let Event::ExecutionStarted { playbook, workload, .. } = event {
            let payload = self.object(workload).await?;
            let payload =
                payload.ok_or_else(|| LoadError::damaged(self.execution, Damage::NoWorkload))?;
            let input = StartInput::recorded(event, payload).map(Box::new);
            return Ok(input.map(|input| Cause::Start { playbook: playbook.clone(), input }));
        }
        let Some(state) = &self.state else { return Ok(None) };
        let form = match recorded_form(event) {
            Some(values) => self.object(values).await?.unwrap_or_default(),
            None => Map::new(),
        };
        Ok(match origin_of(state, recorded, form) {
            EventOrigin::Input(input) => Some(Cause::Input(input)),
            EventOrigin::Note => Some(Cause::Note(Box::new(event.clone()))),
            EventOrigin::Consequence | EventOrigin::Outside => None,
        })
    }

    /// Returns the entries of a stored object; `None` if the value is none.
    async fn object(&self, payload: &Payload) -> Result<Option<Map<String, Value>>, LoadError> {
        Ok(self.control.resolve(self.execution, payload).await?.as_object().cloned())
    }
}
