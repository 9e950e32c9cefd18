//! Events as clients see them: public names, and the step and command each is about.

use std::collections::BTreeMap;

use noetl_model::{
    CommandId, Event, ExecutionId, Payload, Place, Recorded, RunId, StepName, ToolError,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::names::public_name;

/// One event in the public words.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PublicEvent {
    pub event_id: i64,
    /// Its place in its execution: 1, 2, 3, …
    pub seq: u64,
    pub event_type: String,
    pub node_id: Option<String>,
    pub node_name: Option<String>,
    /// What the step does, on `command.issued`.
    pub node_type: Option<String>,
    pub status: String,
    pub created_at: String,
    pub context: Option<Value>,
    /// `{status, context}`, or `{status, reference}` where the value is fetched apart.
    pub result: Option<Value>,
    pub error: Option<String>,
    pub meta: Value,
}

/// A command, as events before have named it.
#[derive(Debug, Clone)]
struct Named {
    step: StepName,
    id: String,
}

/// Tells an execution's events in order; what one event names, later ones can refer to.
#[derive(Debug)]
pub struct Teller {
    execution: ExecutionId,
    commands: BTreeMap<CommandId, Named>,
    runs: BTreeMap<RunId, StepName>,
}

impl Teller {
    pub fn new(execution: ExecutionId) -> Self {
        Self { execution, commands: BTreeMap::new(), runs: BTreeMap::new() }
    }

    /// Learns what an event names, without telling it.
    pub fn learn(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::StepEntered { run, step, .. } => {
                self.runs.insert(*run, step.clone());
            }
            Event::CommandIssued { command, step, task, .. } => {
                self.runs.insert(task.run, step.clone());
                let id = command_id(self.execution, recorded).expect("it issues a command");
                self.commands.insert(*command, Named { step: step.clone(), id });
            }
            _ => {}
        }
    }

    pub fn tell(&mut self, recorded: &Recorded) -> PublicEvent {
        self.learn(recorded);
        let event = &recorded.event;
        let (name, status) = public_name(event);
        let named = command_of(event).and_then(|command| self.commands.get(&command));
        let of_run = || run_of(event).and_then(|run| self.runs.get(&run));
        let step = event.step().or(named.map(|named| &named.step)).or_else(of_run);
        let node_name = match event {
            Event::ExecutionStarted { playbook, .. } => Some(playbook.path.clone()),
            Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionStalled { .. } => Some("playbook".to_owned()),
            _ => step.map(|step| step.to_string()),
        };
        let node_id = match event {
            Event::ExecutionStarted { .. } => Some("playbook".to_owned()),
            _ => node_name.clone(),
        };
        let mut meta = Map::new();
        if let Some(named) = named {
            meta.insert("command_id".to_owned(), json!(named.id));
        }
        add_meta(event, &mut meta);
        PublicEvent {
            event_id: recorded.event_id.0,
            seq: recorded.seq.0,
            event_type: name.to_owned(),
            node_id,
            node_name,
            node_type: node_type(event),
            status: status.to_owned(),
            created_at: recorded.at.to_string(),
            context: self.context(event),
            result: result(event, status),
            error: error(event).map(|error| error.message.clone()),
            meta: Value::Object(meta),
        }
    }

    fn context(&self, event: &Event) -> Option<Value> {
        match event {
            Event::ExecutionStarted { playbook, workload, .. } => Some(json!({
                "execution_id": self.execution.to_string(),
                "catalog_id": playbook.catalog_id.to_string(),
                "path": playbook.path,
                "version": playbook.version,
                "workload": value_or_reference(workload),
            })),
            Event::CommandIssued { bindings, .. } => {
                let values: Map<String, Value> = bindings
                    .0
                    .iter()
                    .map(|(name, value)| (name.clone(), value_or_reference(value)))
                    .collect();
                Some(json!({ "render_context": values }))
            }
            _ => None,
        }
    }
}

/// The public id of a command: `<execution>:<step>:<event>`, and `:i<index>` for an item of a loop.
/// Nothing unless the event issues a command.
pub fn command_id(execution: ExecutionId, issued: &Recorded) -> Option<String> {
    let Event::CommandIssued { step, task, .. } = &issued.event else { return None };
    let id = format!("{execution}:{step}:{}", issued.event_id);
    Some(match task.place {
        Place::Item { index, .. } => format!("{id}:i{index}"),
        Place::Task(_) | Place::Claim { .. } => id,
    })
}

fn command_of(event: &Event) -> Option<CommandId> {
    match event {
        Event::CommandIssued { command, .. }
        | Event::CommandClaimed { command, .. }
        | Event::CommandCompleted { command, .. }
        | Event::CommandFailed { command, .. }
        | Event::CommandCancelled { command, .. }
        | Event::AttemptSuperseded { command, .. }
        | Event::ChildStarted { command, .. } => Some(*command),
        _ => None,
    }
}

fn run_of(event: &Event) -> Option<RunId> {
    match event {
        Event::LoopOpened { run, .. }
        | Event::FrameOpened { run, .. }
        | Event::IterationCompleted { run, .. }
        | Event::IterationFailed { run, .. } => Some(*run),
        _ => None,
    }
}

fn node_type(event: &Event) -> Option<String> {
    match event {
        Event::ExecutionStarted { .. } => Some("execution".to_owned()),
        Event::CommandIssued { tool, .. } => Some(tool.to_string()),
        _ => None,
    }
}

fn error(event: &Event) -> Option<&ToolError> {
    match event {
        Event::CommandFailed { error, .. }
        | Event::IterationFailed { error, .. }
        | Event::StepFailed { error, .. }
        | Event::ExecutionFailed { error, .. } => Some(error),
        _ => None,
    }
}

fn add_meta(event: &Event, meta: &mut Map<String, Value>) {
    let mut add = |name: &str, value: Value| {
        meta.insert(name.to_owned(), value);
    };
    match event {
        Event::ExecutionStarted { pool, trace, .. } => {
            add("execution_pool", json!(pool));
            if let Some(trace) = trace {
                add("trace", trace.clone());
            }
        }
        Event::CommandClaimed { attempt, worker, lease_until, .. } => {
            add("attempt", json!(attempt));
            add("worker_id", json!(worker));
            add("lease_until", json!(lease_until.to_string()));
        }
        Event::CommandCompleted { attempt, logs, .. }
        | Event::CommandFailed { attempt, logs, .. } => {
            add("attempt", json!(attempt));
            if !logs.is_empty() {
                add("logs", json!(logs));
            }
        }
        Event::AttemptSuperseded { attempt, worker, .. } => {
            add("attempt", json!(attempt));
            add("worker_id", json!(worker));
        }
        Event::CommandIssued { pool, task, .. } => {
            add("execution_pool", json!(pool));
            if let Place::Item { index, .. } = task.place {
                add("iteration_index", json!(index));
            }
        }
        Event::IterationCompleted { index, .. } | Event::IterationFailed { index, .. } => {
            add("iteration_index", json!(index));
        }
        Event::StepFailed { handled, .. } => add("handled", json!(handled)),
        Event::ExecutionFailed { steps, .. } => add("failed_steps", json!(steps)),
        Event::ExecutionCancelled { reason } | Event::CommandCancelled { reason, .. } => {
            add("reason", json!(reason));
        }
        Event::ExecutionStalled { detail } => add("detail", json!(detail)),
        Event::ChildStarted { child, .. } => add("child_execution_id", json!(child.to_string())),
        Event::TimerSet { due_at, .. } => add("due_at", json!(due_at.to_string())),
        _ => {}
    }
}

/// What came out, in the envelope that clients unpack.
fn result(event: &Event, status: &str) -> Option<Value> {
    match event {
        Event::CommandCompleted { output, .. } => {
            let inner = enveloped("success", output, |value| json!({ "data": value }));
            Some(json!({ "status": status, "context": { "result": inner } }))
        }
        Event::CommandFailed { error, output, .. } => {
            let data = output.as_ref().map(value_or_reference);
            Some(json!({ "status": status, "context": { "error": error, "data": data } }))
        }
        Event::StepCompleted { output: Some(output), .. }
        | Event::IterationCompleted { output: Some(output), .. }
        | Event::ExecutionCompleted { output } => {
            Some(enveloped(status, output, |value| json!({ "data": value })))
        }
        Event::IterationFailed { error, .. }
        | Event::StepFailed { error, .. }
        | Event::ExecutionFailed { error, .. } => {
            Some(json!({ "status": status, "context": { "error": error } }))
        }
        Event::ContextUpdated { values, .. } => {
            Some(json!({ "status": status, "context": { "values": values } }))
        }
        Event::Reported { body, .. } => Some(json!({ "status": status, "context": body })),
        _ => None,
    }
}

fn enveloped(status: &str, payload: &Payload, context: impl FnOnce(&Value) -> Value) -> Value {
    match payload {
        Payload::Inline(value) => json!({ "status": status, "context": context(value) }),
        Payload::Ref(_) => json!({ "status": status, "reference": value_or_reference(payload) }),
    }
}

/// A value, or where to fetch it.
pub fn value_or_reference(payload: &Payload) -> Value {
    match payload {
        Payload::Inline(value) => (**value).clone(),
        Payload::Ref(reference) => json!({
            "kind": "payload",
            "ref": format!("/api/payloads/{}", reference.digest),
            "bytes": reference.size,
        }),
    }
}
