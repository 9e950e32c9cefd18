//! Converts events of the log to the public format that projections fold.
//!
//! Invariant: memory is bounded by the open work, so that a log of any length can be converted.

use std::borrow::Cow;
use std::collections::BTreeMap;

use noetl_model::{CommandId, Event, ExecutionId, ItemSource, Payload, Recorded, RunId, StepName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Aggregate, Reference, ReplayEvent};
use crate::names::name_of;
use crate::public_event::command_id;

/// Converts an execution's events in order. Events refer to runs and commands that earlier events
/// named.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReplayEvents {
    execution: ExecutionId,
    commands: BTreeMap<CommandId, ConvertedCommand>,
    runs: BTreeMap<RunId, ConvertedRun>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ConvertedCommand {
    id: String,
    step: StepName,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ConvertedRun {
    step: StepName,
    has_loop: bool,
}

impl ConvertedRun {
    /// Returns the id of the run's loop, which is also the id of the loop's stage.
    fn loop_id(&self, run: RunId) -> String {
        format!("{}:{run}", self.step)
    }
}

impl ReplayEvents {
    pub(crate) fn new(execution: ExecutionId) -> Self {
        Self { execution, commands: BTreeMap::new(), runs: BTreeMap::new() }
    }

    /// Returns the number of remembered commands and runs.
    pub(crate) fn len(&self) -> usize {
        self.commands.len() + self.runs.len()
    }

    pub(crate) fn execution(&self) -> ExecutionId {
        self.execution
    }

    /// Converts the next event.
    pub(crate) fn convert<'a>(&mut self, recorded: &'a Recorded) -> ReplayEvent<'a> {
        if let Event::Reported { name, step, body } = &recorded.event {
            return foreign(recorded.event_id.0, name, step.as_ref(), body);
        }
        let (event_type, status) = name_of(recorded.event.tag());
        let event = ReplayEvent {
            event_id: recorded.event_id.0,
            event_type: Cow::Borrowed(event_type),
            status: Cow::Borrowed(status),
            node_name: recorded.event.step().map(|step| Cow::Borrowed(step.as_str())),
            reference: published_output(&recorded.event).and_then(reference_to),
            ..ReplayEvent::default()
        };
        self.about(recorded, event)
    }

    /// Adds the command, run or loop that an event is about.
    fn about<'a>(&mut self, recorded: &'a Recorded, event: ReplayEvent<'a>) -> ReplayEvent<'a> {
        match &recorded.event {
            Event::ExecutionStarted { playbook, .. } => {
                ReplayEvent { node_name: Some(Cow::Borrowed(&playbook.path)), ..event }
            }
            Event::StepEntered { run, step, .. } => {
                self.runs.insert(*run, ConvertedRun { step: step.clone(), has_loop: false });
                event
            }
            Event::LoopOpened { run, items, .. } => self.loop_opened(*run, items, event),
            Event::FrameOpened { run, frame, len, .. } => self.frame_opened(*run, *frame, *len, event),
            Event::IterationCompleted { run, .. } | Event::IterationFailed { run, .. } => {
                ReplayEvent { stage_id: None, ..self.of_loop(*run, event) }
            }
            Event::StepCompleted { run, .. } | Event::StepFailed { run, .. } => {
                let event = self.of_loop(*run, event);
                self.runs.remove(run);
                event
            }
            Event::CommandIssued { command, step, .. } => {
                let id = command_id(self.execution, recorded).expect("it issues a command");
                self.commands.insert(*command, ConvertedCommand { id, step: step.clone() });
                self.of_command(*command, event)
            }
            Event::CommandClaimed { command, worker, .. } => {
                let worker_id = Some(Cow::Borrowed(worker.as_str()));
                ReplayEvent { worker_id, ..self.of_command(*command, event) }
            }
            Event::CommandCompleted { command, .. }
            | Event::CommandFailed { command, .. }
            | Event::CommandCancelled { command, .. } => {
                let event = self.of_command(*command, event);
                self.commands.remove(command);
                event
            }
            Event::CommandParked { command, .. }
            | Event::WaitOpened { command, .. }
            | Event::SignalDelivered { command, .. }
            | Event::ApprovalRequested { command, .. }
            | Event::ApprovalDecided { command, .. }
            | Event::SlotGranted { command: Some(command), .. }
            | Event::ChildStarted { command, .. }
            | Event::AttemptSuperseded { command, .. } => self.of_command(*command, event),
            Event::ExecutionForked { .. }
            | Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::ExecutionPaused { .. }
            | Event::ExecutionResumed { .. }
            | Event::SlotRequested { command: None, .. }
            | Event::SlotGranted { command: None, .. }
            | Event::SignalReceived { .. } => {
                ReplayEvent { node_name: Some(Cow::Borrowed("playbook")), ..event }
            }
            Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::ContextUpdated { .. }
            // The command is issued by the next event.
            | Event::SlotRequested { command: Some(_), .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::TimerCancelled { .. }
            | Event::Reported { .. } => event,
        }
    }

    fn frame_opened<'a>(
        &self,
        run: RunId,
        frame: u64,
        len: u64,
        event: ReplayEvent<'a>,
    ) -> ReplayEvent<'a> {
        let event = self.of_loop(run, event);
        let id = event.stage_id.as_ref().map(|stage| format!("{stage}:{frame}"));
        let event = ReplayEvent { frame_id: id.map(Cow::Owned), ..event };
        with(event, "row_count", json!(len))
    }

    fn loop_opened<'a>(
        &mut self,
        run: RunId,
        items: &ItemSource,
        event: ReplayEvent<'a>,
    ) -> ReplayEvent<'a> {
        if let Some(open) = self.runs.get_mut(&run) {
            open.has_loop = true;
        }
        let event = with(self.of_loop(run, event), "kind", json!("loop"));
        match items {
            ItemSource::Range(len) | ItemSource::List { len, .. } => {
                with(event, "collection_size", json!(len))
            }
            ItemSource::Cursor => event,
        }
    }

    /// Adds the step of a run and, if the run has a loop, the loop.
    fn of_loop<'a>(&self, run: RunId, event: ReplayEvent<'a>) -> ReplayEvent<'a> {
        let Some(open) = self.runs.get(&run) else { return event };
        let event = ReplayEvent { node_name: Some(Cow::Owned(open.step.to_string())), ..event };
        if !open.has_loop {
            return event;
        }
        let id = open.loop_id(run);
        let event = with(event, "loop_id", json!(id));
        ReplayEvent { stage_id: Some(Cow::Owned(id)), ..event }
    }

    fn of_command<'a>(&self, command: CommandId, event: ReplayEvent<'a>) -> ReplayEvent<'a> {
        let Some(open) = self.commands.get(&command) else { return event };
        ReplayEvent {
            node_name: Some(Cow::Owned(open.step.to_string())),
            command_id: Some(Cow::Owned(open.id.clone())),
            ..event
        }
    }
}

fn with<'a>(mut event: ReplayEvent<'a>, key: &str, value: Value) -> ReplayEvent<'a> {
    event.meta.to_mut().insert(key.to_owned(), value);
    event
}

/// Converts an event of another program, keeping its own fields.
fn foreign<'a>(
    event_id: i64,
    name: &'a str,
    step: Option<&'a StepName>,
    body: &'a Value,
) -> ReplayEvent<'a> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(Cow::Borrowed);
    let reference = ["/result/reference", "/reference", "/context/reference"]
        .iter()
        .find_map(|place| body.pointer(place).filter(|it| !it.is_null()));
    ReplayEvent {
        event_id,
        event_type: Cow::Borrowed(name),
        node_name: step.map(|step| Cow::Borrowed(step.as_str())),
        status: text("status").unwrap_or_default(),
        meta: match body.get("meta").and_then(Value::as_object) {
            Some(meta) => Cow::Borrowed(meta),
            None => Cow::Owned(Map::new()),
        },
        reference: reference.map(Reference::told),
        worker_id: text("worker_id"),
        stage_id: None,
        frame_id: None,
        command_id: None,
        aggregate: text("aggregate_type")
            .zip(text("aggregate_id"))
            .map(|(kind, id)| Aggregate { kind, id }),
    }
}

/// Returns the output of an event that the published projections refer to: not that of a failed
/// step.
fn published_output(event: &Event) -> Option<&Payload> {
    let is_failed_step = matches!(event, Event::StepFailed { .. });
    event.output().filter(|_| !is_failed_step)
}

/// Returns the reference of a payload that is not inline.
fn reference_to(payload: &Payload) -> Option<Reference> {
    match payload {
        Payload::Ref(kept) => Some(Reference::Kept(*kept)),
        Payload::Inline(_) => None,
    }
}
