//! Converts events of the log to the envelopes that replays fold.
//!
//! Invariant: memory is bounded by the open work, so that a log of any length can be converted.

use std::borrow::Cow;
use std::collections::BTreeMap;

use noetl_model::{CommandId, Event, ExecutionId, ItemSource, Payload, Recorded, RunId, StepName};
use noetl_replay::{Aggregate, Envelope, Reference};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::names::name_of;
use crate::view::command_id;

/// Converts an execution's events in order. Events refer to runs and commands that earlier events
/// named.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Wording {
    execution: ExecutionId,
    commands: BTreeMap<CommandId, OpenCommand>,
    runs: BTreeMap<RunId, OpenRun>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OpenCommand {
    id: String,
    step: StepName,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OpenRun {
    step: StepName,
    has_loop: bool,
}

impl OpenRun {
    /// Returns the id of the run's loop, which is also the id of the loop's stage.
    fn loop_id(&self, run: RunId) -> String {
        format!("{}:{run}", self.step)
    }
}

impl Wording {
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
    pub(crate) fn word<'a>(&mut self, recorded: &'a Recorded) -> Envelope<'a> {
        if let Event::Reported { name, step, body } = &recorded.event {
            return foreign(recorded.event_id.0, name, step.as_ref(), body);
        }
        let (event_type, status) = name_of(recorded.event.tag());
        let envelope = Envelope {
            event_id: recorded.event_id.0,
            event_type: Cow::Borrowed(event_type),
            status: Cow::Borrowed(status),
            node_name: recorded.event.step().map(|step| Cow::Borrowed(step.as_str())),
            reference: output_of(&recorded.event).and_then(reference_to),
            ..Envelope::default()
        };
        self.about(recorded, envelope)
    }

    /// Adds the command, run or loop that an event is about to its envelope.
    fn about<'a>(&mut self, recorded: &'a Recorded, envelope: Envelope<'a>) -> Envelope<'a> {
        match &recorded.event {
            Event::ExecutionStarted { playbook, .. } => {
                Envelope { node_name: Some(Cow::Borrowed(&playbook.path)), ..envelope }
            }
            Event::StepEntered { run, step, .. } => {
                self.runs.insert(*run, OpenRun { step: step.clone(), has_loop: false });
                envelope
            }
            Event::LoopOpened { run, items, .. } => self.loop_opened(*run, items, envelope),
            Event::FrameOpened { run, frame, len, .. } => {
                let envelope = self.of_loop(*run, envelope);
                let id = envelope.stage_id.as_ref().map(|stage| format!("{stage}:{frame}"));
                let envelope = Envelope { frame_id: id.map(Cow::Owned), ..envelope };
                with(envelope, "row_count", json!(len))
            }
            Event::IterationCompleted { run, .. } | Event::IterationFailed { run, .. } => {
                Envelope { stage_id: None, ..self.of_loop(*run, envelope) }
            }
            Event::StepCompleted { run, .. } | Event::StepFailed { run, .. } => {
                let envelope = self.of_loop(*run, envelope);
                self.runs.remove(run);
                envelope
            }
            Event::CommandIssued { command, step, .. } => {
                let id = command_id(self.execution, recorded).expect("it issues a command");
                self.commands.insert(*command, OpenCommand { id, step: step.clone() });
                self.of_command(*command, envelope)
            }
            Event::CommandClaimed { command, worker, .. } => {
                let worker_id = Some(Cow::Borrowed(worker.as_str()));
                Envelope { worker_id, ..self.of_command(*command, envelope) }
            }
            Event::CommandCompleted { command, .. }
            | Event::CommandFailed { command, .. }
            | Event::CommandCancelled { command, .. } => {
                let envelope = self.of_command(*command, envelope);
                self.commands.remove(command);
                envelope
            }
            Event::ChildStarted { command, .. } | Event::AttemptSuperseded { command, .. } => {
                self.of_command(*command, envelope)
            }
            Event::ExecutionForked { .. }
            | Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. } => {
                Envelope { node_name: Some(Cow::Borrowed("playbook")), ..envelope }
            }
            Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::TimerCancelled { .. }
            | Event::Reported { .. } => envelope,
        }
    }

    fn loop_opened<'a>(
        &mut self,
        run: RunId,
        items: &ItemSource,
        envelope: Envelope<'a>,
    ) -> Envelope<'a> {
        if let Some(open) = self.runs.get_mut(&run) {
            open.has_loop = true;
        }
        let envelope = with(self.of_loop(run, envelope), "kind", json!("loop"));
        match items {
            ItemSource::Range(len) | ItemSource::List { len, .. } => {
                with(envelope, "collection_size", json!(len))
            }
            ItemSource::Cursor => envelope,
        }
    }

    /// Adds the step of a run and, if the run has a loop, the loop.
    fn of_loop<'a>(&self, run: RunId, envelope: Envelope<'a>) -> Envelope<'a> {
        let Some(open) = self.runs.get(&run) else { return envelope };
        let envelope = Envelope { node_name: Some(Cow::Owned(open.step.to_string())), ..envelope };
        if !open.has_loop {
            return envelope;
        }
        let id = open.loop_id(run);
        let envelope = with(envelope, "loop_id", json!(id));
        Envelope { stage_id: Some(Cow::Owned(id)), ..envelope }
    }

    fn of_command<'a>(&self, command: CommandId, envelope: Envelope<'a>) -> Envelope<'a> {
        let Some(open) = self.commands.get(&command) else { return envelope };
        Envelope {
            node_name: Some(Cow::Owned(open.step.to_string())),
            command_id: Some(Cow::Owned(open.id.clone())),
            ..envelope
        }
    }
}

fn with<'a>(mut envelope: Envelope<'a>, key: &str, value: Value) -> Envelope<'a> {
    envelope.meta.to_mut().insert(key.to_owned(), value);
    envelope
}

/// Converts an event of another program, keeping its own fields.
fn foreign<'a>(
    event_id: i64,
    name: &'a str,
    step: Option<&'a StepName>,
    body: &'a Value,
) -> Envelope<'a> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(Cow::Borrowed);
    let reference = ["/result/reference", "/reference", "/context/reference"]
        .iter()
        .find_map(|place| body.pointer(place).filter(|it| !it.is_null()));
    Envelope {
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

/// Returns the output in an event, for kinds of events that have one.
fn output_of(event: &Event) -> Option<&Payload> {
    match event {
        Event::CommandCompleted { output, .. } | Event::ExecutionCompleted { output } => {
            Some(output)
        }
        Event::CommandFailed { output, .. }
        | Event::StepCompleted { output, .. }
        | Event::IterationCompleted { output, .. } => output.as_ref(),
        Event::ExecutionStarted { .. }
        | Event::ExecutionForked { .. }
        | Event::StepEntered { .. }
        | Event::StepSkipped { .. }
        | Event::StepAwaited { .. }
        | Event::LoopOpened { .. }
        | Event::FrameOpened { .. }
        | Event::IterationFailed { .. }
        | Event::CommandIssued { .. }
        | Event::CommandClaimed { .. }
        | Event::CommandCancelled { .. }
        | Event::AttemptSuperseded { .. }
        | Event::ChildStarted { .. }
        | Event::ContextUpdated { .. }
        | Event::TimerSet { .. }
        | Event::TimerFired { .. }
        | Event::TimerCancelled { .. }
        | Event::StepFailed { .. }
        | Event::ExecutionFailed { .. }
        | Event::ExecutionCancelled { .. }
        | Event::ExecutionStalled { .. }
        | Event::ExecutionRewound { .. }
        | Event::Reported { .. } => None,
    }
}

/// Returns the reference of a payload that is not inline.
fn reference_to(payload: &Payload) -> Option<Reference> {
    match payload {
        Payload::Ref(kept) => Some(Reference::Kept(*kept)),
        Payload::Inline(_) => None,
    }
}
