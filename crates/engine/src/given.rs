//! What a decision may look at besides the execution itself, and how it asks for more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use noetl_model::{
    CommandId, Digest, Event, Payload, Place, Recorded, RunId, Seq, TaskAddress, Timestamp,
};
use noetl_playbook::Playbook;
use serde_json::Value;

use crate::{Changes, Refusal};

/// What a decision may look at besides the execution itself.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    pub playbook: &'a Playbook,
    pub now: Timestamp,
    pub loaded: &'a Loaded,
    /// How often steps may be entered; more is a cycle that makes no progress.
    pub runs_max: u64,
    /// How many events an execution may have, whatever they are.
    pub events_max: u64,
    /// How many workers may lose a command before it fails.
    pub attempts_max: u32,
    /// Where a fork leaves within this decision, if one does.
    pub turn: Option<Turn<'a>>,
}

/// A place in a decision from which on something is different.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// After how many of the decision's events.
    pub after: usize,
    pub changes: &'a Changes,
}

/// How often steps may be entered unless an operator says otherwise. The items of a loop, of which
/// there may be millions, are of one run.
pub const RUNS_MAX: u64 = 250_000;
/// How many events an execution may have unless its operator says otherwise.
pub const EVENTS_MAX: u64 = 100_000_000;
/// How many workers may lose a command unless its operator says otherwise.
pub const ATTEMPTS_MAX: u32 = 3;

/// Stored data that has been fetched because a decision asked for it.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    pub payloads: BTreeMap<Digest, Arc<Value>>,
    pub iterations: BTreeMap<RunId, Iterations>,
}

/// What the items of a loop produced, in item order.
#[derive(Debug, Clone)]
pub enum Iterations {
    /// `null` for an item that failed or was never worked on.
    Values(Vec<Arc<Value>>),
    /// Together they are larger than a payload may be.
    TooLarge,
}

/// Something a decision cannot be made without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Payload(Digest),
    /// The outputs of a loop's items: fold the log after `after` with an [`IterationCollector`].
    Iterations {
        run: RunId,
        after: Seq,
    },
}

/// What a decision lacks: fetch it into [`Loaded`], then ask again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs(pub BTreeSet<Need>);

/// What follows from an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// These events; none if the input says nothing new.
    Accepted(Vec<Event>),
    /// Nothing, but that it was asked may be worth keeping.
    Refused { refusal: Refusal, recorded: Vec<Event> },
}

/// Gathers what a loop's items produced from the events of its execution, in item order.
#[derive(Debug)]
pub struct IterationCollector {
    run: RunId,
    /// Which item a command works for, while it is open.
    working: BTreeMap<CommandId, u64>,
    /// The output of each item's latest command, until the item ends.
    latest: BTreeMap<u64, Payload>,
    outputs: BTreeMap<u64, Payload>,
}

impl IterationCollector {
    pub fn new(run: RunId) -> Self {
        Self { run, working: BTreeMap::new(), latest: BTreeMap::new(), outputs: BTreeMap::new() }
    }

    pub fn see(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::CommandIssued {
                command,
                task: TaskAddress { run, place: Place::Item { index, .. }, .. },
                ..
            } if *run == self.run => {
                self.working.insert(*command, *index);
            }
            Event::CommandCompleted { command, output, .. } => {
                self.keep(*command, Some(output));
            }
            Event::CommandFailed { command, output, .. } => {
                self.keep(*command, output.as_ref());
            }
            Event::IterationCompleted { run, index, output } if *run == self.run => {
                let latest = self.latest.remove(index);
                if let Some(output) = output.clone().or(latest) {
                    self.outputs.insert(*index, output);
                }
            }
            Event::CommandIssued { .. }
            | Event::IterationCompleted { .. }
            | Event::IterationFailed { .. }
            | Event::CommandClaimed { .. }
            | Event::CommandCancelled { .. }
            | Event::AttemptSuperseded { .. }
            | Event::ChildStarted { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::TimerCancelled { .. }
            | Event::StepEntered { .. }
            | Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::StepCompleted { .. }
            | Event::StepFailed { .. }
            | Event::LoopOpened { .. }
            | Event::FrameOpened { .. }
            | Event::ExecutionStarted { .. }
            | Event::ExecutionForked { .. }
            | Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionStalled { .. }
            | Event::Reported { .. } => {}
        }
    }

    /// The outputs in item order; items without one are left out.
    pub fn finish(self) -> BTreeMap<u64, Payload> {
        self.outputs
    }

    fn keep(&mut self, command: CommandId, output: Option<&Payload>) {
        if let (Some(index), Some(output)) = (self.working.remove(&command), output) {
            self.latest.insert(index, output.clone());
        }
    }
}
