//! Commands in the form in which a worker, or the control plane itself, runs them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use noetl_expr::{Budget, MissingValues, RenderError, Template};
use noetl_model::{
    Attempt, CatalogId, CommandId, ErrorKind, Lease, OpenedSecrets, Origin, Payload, Place,
    StepName, Timestamp, ToolError, ToolKind, WorkerId,
};
use noetl_playbook::{LoopSource, Playbook, Step, Task};
use serde_json::{Map, Value, json};

use crate::state::{CommandHolder, CommandState};
use crate::{DECISION_WORK_MAX, DecisionArgs, Effort, Execution, Needs};

/// The configuration keys that may hold a task's parameters.
const INPUT_WORDS: [&str; 2] = ["input", "args"];

/// The current or last holder of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HolderStatus {
    /// No worker holds the command: it waits for one, or for a child.
    Nobody,
    Worker {
        worker: WorkerId,
        attempt: Attempt,
        /// The end of the lease as granted; heartbeats extend it in the store only.
        lease_until: Timestamp,
    },
    /// The worker has started a job, whose callback ends the command.
    Callback { worker: WorkerId, attempt: Attempt },
    /// The command was ended by its first worker.
    Ended,
    /// The command ended after several attempts; the log has the worker of each attempt.
    EndedContested,
    /// The command was never issued.
    Unknown,
}

/// Returns the holder of a command.
pub fn holder_status(state: &Execution, command: CommandId) -> HolderStatus {
    match state.commands.get(&command).map(|open| &open.holder) {
        Some(
            CommandHolder::Nobody
            | CommandHolder::Child { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. },
        ) => HolderStatus::Nobody,
        Some(CommandHolder::Worker { worker, attempt, lease_until, .. }) => HolderStatus::Worker {
            worker: worker.clone(),
            attempt: *attempt,
            lease_until: *lease_until,
        },
        Some(CommandHolder::Callback { worker, attempt, .. }) => {
            HolderStatus::Callback { worker: worker.clone(), attempt: *attempt }
        }
        None if command.0 >= state.drawn.commands => HolderStatus::Unknown,
        None if state.contested.contains_key(&command) => HolderStatus::EndedContested,
        None => HolderStatus::Ended,
    }
}

/// Returns the command leased to a worker with its report of `reported`, if it still holds it.
pub fn leased_with_report(
    state: &Execution,
    reported: CommandId,
    to: &WorkerId,
) -> Option<CommandId> {
    let mut open = state.commands.iter();
    let found = open.find(|(_, open)| match &open.holder {
        CommandHolder::Worker { worker, after, .. } => worker == to && *after == Some(reported),
        CommandHolder::Nobody
        | CommandHolder::Child { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Wait { .. }
        | CommandHolder::Approval { .. } => false,
    });
    found.map(|(command, _)| *command)
}

/// Returns the lease of a claimed command: the tool to run and its values.
pub fn lease_of(state: &Execution, playbook: &Playbook, command: CommandId) -> Option<Lease> {
    let open = state.commands.get(&command)?;
    let CommandHolder::Worker { attempt, lease_until, .. } = &open.holder else { return None };
    let (step, task) = task_of(playbook, open)?;
    Some(Lease {
        execution: state.id,
        command,
        attempt: *attempt,
        lease_until: *lease_until,
        step: open.step.clone(),
        label: task.label.clone(),
        tool: open.tool,
        config: config_of(step, task, open.task.place),
        bindings: open.bindings.clone(),
        is_strict: playbook.missing == MissingValues::Fail,
        timeout_ms: task
            .timeout
            .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
        idempotency_key: format!("{}/{}/{}", state.id, open.step, open.task_run.first),
        key_attempt: open.attempts(),
        item: open.task.place.item(),
        trace: state.trace.clone(),
        secrets: OpenedSecrets::default(),
        secret: None,
    })
}

/// The tool of a task and its settings as written, with the step's `input` as defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenCall {
    pub tool: ToolKind,
    pub config: Value,
}

/// Returns the call of the tool at a place of a step, as a worker gets it before its templates are
/// rendered; `None` if the playbook has no such task.
pub fn written_call(playbook: &Playbook, step: &str, place: Place) -> Option<WrittenCall> {
    let (step, task) = task_at(playbook, step, place)?;
    Some(WrittenCall { tool: task.tool, config: config_of(step, task, place) })
}

fn task_of<'p>(playbook: &'p Playbook, open: &CommandState) -> Option<(&'p Step, &'p Task)> {
    task_at(playbook, open.step.as_str(), open.task.place)
}

fn task_at<'p>(playbook: &'p Playbook, step: &str, place: Place) -> Option<(&'p Step, &'p Task)> {
    let step = playbook.step(playbook.index_of(step)?);
    let index = match place {
        Place::Task(task) | Place::Item { task, .. } => task,
        Place::Claim { .. } => {
            return match &step.repeat.as_ref()?.source {
                LoopSource::Cursor(task) => Some((step, task)),
                LoopSource::In(_) => None,
            };
        }
    };
    let task = step.tasks.get(usize::try_from(index).ok()?)?;
    Some((step, task))
}

/// Returns a task's configuration as written, with the step's `input` as defaults of the task's.
fn config_of(step: &Step, task: &Task, place: Place) -> Value {
    let Value::Object(mut config) = task.config.source().clone() else {
        return task.config.source().clone();
    };
    let mut input = Map::new();
    if let (Place::Item { .. }, Some(repeat), ToolKind::Python) = (place, &step.repeat, task.tool) {
        for name in [repeat.iterator.as_str(), "_index", "_total"] {
            input.insert(name.to_owned(), json!(format!("{{{{ {name} }}}}")));
        }
    }
    if let Some(Value::Object(of_step)) = step.input.as_ref().map(Template::source) {
        input.extend(of_step.clone());
    }
    let own = INPUT_WORDS.iter().find_map(|word| config.remove(*word));
    match own {
        Some(Value::Object(own)) => input.extend(own),
        // The task's input is not a map, so it replaces everything.
        Some(other) => {
            config.insert("input".to_owned(), other);
            return Value::Object(config);
        }
        None => {}
    }
    if !input.is_empty() {
        config.insert("input".to_owned(), Value::Object(input));
    }
    Value::Object(config)
}

/// The execution that a command of kind `playbook` requests.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildRequest {
    pub playbook: ChildPlaybook,
    pub payload: Map<String, Value>,
    pub origin: Origin,
}

/// The playbook of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildPlaybook {
    /// A version of a path; the newest if none is named.
    Path {
        path: String,
        version: Option<u32>,
    },
    Id(CatalogId),
}

impl fmt::Display for ChildPlaybook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { path, version: None } => f.write_str(path),
            Self::Path { path, version: Some(version) } => write!(f, "{path}@{version}"),
            Self::Id(id) => write!(f, "{id}"),
        }
    }
}

/// The action required for a command of kind `playbook`.
#[derive(Debug, Clone, PartialEq)]
pub enum ChildCall {
    Start(ChildRequest),
    /// The request is invalid.
    Invalid(ToolError),
    /// The command has ended, or its child has been started.
    Settled,
    /// The execution is paused, or the command waits for a slot.
    Blocked,
}

/// Returns the child execution that an open command requests.
pub fn child_request(
    state: &Execution,
    command: CommandId,
    given: DecisionArgs<'_>,
) -> Result<ChildCall, Needs> {
    let Some(open) = state.commands.get(&command) else { return Ok(ChildCall::Settled) };
    let Some((step, task)) = task_of(given.playbook, open) else { return Ok(ChildCall::Settled) };
    match (&open.holder, open.tool) {
        (CommandHolder::Nobody, ToolKind::Playbook) if state.is_blocked(command) => {
            return Ok(ChildCall::Blocked);
        }
        (CommandHolder::Nobody, ToolKind::Playbook) => {}
        (
            CommandHolder::Nobody
            | CommandHolder::Worker { .. }
            | CommandHolder::Child { .. }
            | CommandHolder::Callback { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. },
            _,
        ) => return Ok(ChildCall::Settled),
    }
    let variables = LoadedBindings::load(open, given)?;
    let rendered = rendered_within(&config_of(step, task, open.task.place), &variables, given)?;
    let request = rendered.and_then(|config| request_of(&config, &variables, state, command));
    Ok(match request {
        Ok(request) => ChildCall::Start(request),
        Err(error) => ChildCall::Invalid(error),
    })
}

/// Returns the settings of an open command with all templates rendered; the error if a template
/// fails.
pub(crate) fn rendered_config(
    state: &Execution,
    command: CommandId,
    given: DecisionArgs<'_>,
) -> Result<Result<Map<String, Value>, ToolError>, Needs> {
    let open = state.commands.get(&command).expect("the command is open");
    let (step, task) = task_of(given.playbook, open).expect("a command's task is in the playbook");
    let variables = LoadedBindings::load(open, given)?;
    rendered_within(&config_of(step, task, open.task.place), &variables, given)
}

/// Renders settings within the work limit of a decision.
fn rendered_within(
    config: &Value,
    variables: &LoadedBindings,
    given: DecisionArgs<'_>,
) -> Result<Result<Map<String, Value>, ToolError>, Needs> {
    let budget = Budget::new(given.effort.work_max());
    let rendered = render_request(config, variables, given.playbook.missing, &budget);
    match (budget.is_exceeded(), given.effort) {
        (false, _) => Ok(rendered),
        (true, Effort::Brief) => Err(Needs::Effort),
        (true, Effort::Whole) => Ok(Err(ToolError::new(
            ErrorKind::Template,
            format!(
                "its templates took more than {DECISION_WORK_MAX} units of work (DECISION_WORK_MAX)"
            ),
        ))),
    }
}

/// Renders `input` first; its keys are variables for the rest of the configuration.
fn render_request(
    config: &Value,
    variables: &LoadedBindings,
    missing: MissingValues,
    budget: &Budget,
) -> Result<Map<String, Value>, ToolError> {
    let template_error =
        |error: RenderError| ToolError::new(ErrorKind::Template, error.to_string());
    let parsed = |value: &Value| {
        Template::parse_with(value.clone(), missing)
            .map_err(|error| ToolError::new(ErrorKind::Template, error.to_string()))
    };
    let input = match config.get("input") {
        Some(input) => parsed(input)?
            .render_within(variables, budget)
            .map_err(|error| template_error(error.below("input")))?,
        None => Value::Null,
    };
    let mut inner = variables.clone();
    if let Value::Object(input) = &input {
        inner.0.extend(input.iter().map(|(key, value)| (key.clone(), Arc::new(value.clone()))));
    }
    let mut rest = config.clone();
    if let Some(rest) = rest.as_object_mut() {
        rest.remove("input");
    }
    let rendered = parsed(&rest)?.render_within(&inner, budget).map_err(template_error)?;
    let Value::Object(mut rendered) = rendered else { return Ok(Map::new()) };
    if !input.is_null() {
        rendered.insert("input".to_owned(), input);
    }
    Ok(rendered)
}

fn request_of(
    config: &Map<String, Value>,
    variables: &LoadedBindings,
    state: &Execution,
    command: CommandId,
) -> Result<ChildRequest, ToolError> {
    let invalid = |message: &str| ToolError::new(ErrorKind::Config, message);
    let path = config.get("path").and_then(Value::as_str).filter(|path| !path.is_empty());
    let payload = match config.get("input").or_else(|| config.get("payload")) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(payload)) => payload.clone(),
        Some(_) => return Err(invalid("a child's `input` must be a map")),
    };
    let version = match config.get("version") {
        None | Some(Value::Null) => None,
        Some(Value::String(newest)) if newest == "latest" => None,
        Some(version) => Some(version_of(version).ok_or_else(|| {
            invalid("`version` must be a whole number: the version of the child in the catalog")
        })?),
    };
    let (execution, depth) = (state.id, state.depth() + 1);
    let origin = match waits(config) {
        true => Origin::Parent {
            execution,
            command,
            return_step: ["return_step", "result_step"]
                .iter()
                .find_map(|key| config.get(*key)?.as_str())
                .map(StepName::new),
            depth,
            iter: variables.0.get("iter").map(|iter| (**iter).clone()),
        },
        false => Origin::Linked { execution, depth },
    };
    let playbook = match (path, config.get("catalog_id").and_then(catalog_id_of)) {
        (Some(path), _) => ChildPlaybook::Path { path: path.to_owned(), version },
        (None, Some(id)) => ChildPlaybook::Id(id),
        (None, None) => {
            return Err(invalid("a playbook tool needs `path`: the catalog path of the child"));
        }
    };
    Ok(ChildRequest { playbook, payload, origin })
}

fn catalog_id_of(id: &Value) -> Option<CatalogId> {
    match id {
        Value::Number(number) => number.as_i64().map(CatalogId),
        Value::String(text) => text.parse().ok().map(CatalogId),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// True if the parent waits for the child: by default if the command asks for a result.
fn waits(config: &Map<String, Value>) -> bool {
    let asks = |key: &str| match config.get(key)? {
        Value::Null => None,
        Value::Bool(asks) => Some(*asks),
        Value::String(text) => Some(!matches!(text.trim(), "" | "false")),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(true),
    };
    let wanted = ["return_step", "return_result", "result_step"];
    asks("wait").unwrap_or_else(|| wanted.into_iter().filter_map(asks).any(|asks| asks))
}

fn version_of(version: &Value) -> Option<u32> {
    match version {
        Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The values of a command, all loaded.
#[derive(Clone)]
struct LoadedBindings(BTreeMap<String, Arc<Value>>);

impl LoadedBindings {
    fn load(open: &CommandState, given: DecisionArgs<'_>) -> Result<Self, Needs> {
        let mut values = BTreeMap::new();
        let mut needs = std::collections::BTreeSet::new();
        for (name, payload) in &open.bindings.0 {
            let value = match payload {
                Payload::Inline(value) => Some(value.clone()),
                Payload::Ref(reference) => given.loaded.payloads.get(&reference.digest).cloned(),
            };
            match (value, payload) {
                (Some(value), _) => {
                    values.insert(name.clone(), value);
                }
                (None, Payload::Ref(reference)) => {
                    needs.insert(reference.digest);
                }
                (None, Payload::Inline(_)) => unreachable!("an inline value is here"),
            }
        }
        if needs.is_empty() { Ok(Self(values)) } else { Err(Needs::Payloads(needs)) }
    }
}

impl noetl_expr::VariableSource for LoadedBindings {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        self.0.get(name).cloned()
    }
}
