//! A named value as templates see it: plain data, or data with aliases beside its own keys.

use std::sync::Arc;

use noetl_expr::Condition;
use noetl_model::{Digest, Payload, PayloadRef, StepName, StepStatus, ToolError, ToolKind};
use noetl_playbook::{OutputView, Step, StoreWord};
use serde_json::{Map, Value, json};

use super::ScopeReader;
use super::copies::CutFrom;
use crate::Execution;
use crate::state::{Pipeline, StepRecord, TaskResult};
use crate::value::{Aliases, select};

/// The keys of a large result that describe where it is stored.
const REFERENCE_WORDS: [&str; 3] = ["_ref", "_store", "_preview"];
/// The size from which `_store` is `disk`; for smaller results it is `kv`.
const STORE_DISK_FROM: u64 = 1024 * 1024;

/// The end of a step, while its `set` and arcs are evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepEnd<'a> {
    pub(crate) step: &'a StepName,
    pub(crate) output: &'a Payload,
    pub(crate) error: Option<&'a ToolError>,
    pub(crate) way: EndWay,
}

/// The kind of a step's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndWay {
    Tasks,
    Loop,
    Skipped,
}

/// The spelling that a condition uses where several are accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusSpelling {
    success: &'static str,
    done: Option<&'static str>,
    failed: &'static str,
}

impl Default for StatusSpelling {
    fn default() -> Self {
        Self { success: "success", done: None, failed: "step.failed" }
    }
}

impl StatusSpelling {
    /// Chooses the spelling in the condition: `output.status == 'ok'` works as well as `'success'`.
    pub(crate) fn of(condition: &Condition) -> Self {
        let first = |words: &[&'static str]| {
            words.iter().copied().find(|word| condition.mentions_text(word))
        };
        Self {
            success: first(&["success", "ok", "completed", "COMPLETED"]).unwrap_or("success"),
            done: first(&["loop.done", "step.done", "call.done"]),
            failed: first(&["step.failed", "call.error"]).unwrap_or("step.failed"),
        }
    }

    pub(crate) fn event(self, end: &StepEnd<'_>) -> &'static str {
        match (end.way, end.error) {
            (EndWay::Skipped, _) => "step.skipped",
            (EndWay::Tasks | EndWay::Loop, Some(_)) => self.failed,
            (EndWay::Loop, None) => self.done.unwrap_or("loop.done"),
            (EndWay::Tasks, None) => match self.done {
                Some("call.done") => "call.done",
                Some(_) | None => "step.done",
            },
        }
    }

    fn status(self, error: Option<&ToolError>) -> &'static str {
        if error.is_some() { "error" } else { self.success }
    }
}

pub(super) enum View<'a> {
    Plain(Arc<Value>),
    /// A variable written by `set`.
    Variable(&'a Payload),
    /// Values by name; later ones shadow earlier ones.
    Fields(Vec<(String, Payload)>),
    /// A tool's output.
    Stored(&'a Payload),
    /// A step that has ended before.
    Step(&'a StepRecord, &'a OutputView),
    /// The step that has just ended.
    End(&'a StepEnd<'a>, &'a OutputView),
    /// `output` in a rule: the status, error and output of a task.
    Envelope {
        result: &'a TaskResult,
        tool: ToolKind,
        retry: u32,
    },
    /// `results`: a pipeline's outputs by label.
    Labels {
        step: &'a Step,
        pipeline: &'a Pipeline,
    },
    /// `ctx`: the context over the workload.
    Context(&'a Execution),
    /// `steps`: every step's output by name.
    Steps(&'a Execution),
}

impl<'a> View<'a> {
    /// Returns the whole value.
    pub(super) fn whole(&self, reader: &ScopeReader<'a>) -> Option<Arc<Value>> {
        match self {
            View::Plain(value) => Some(value.clone()),
            View::Variable(payload) | View::Stored(payload) => reader.load(payload),
            View::Fields(fields) => {
                let mut map = Map::new();
                for (name, value) in fields {
                    map.insert(name.clone(), (*reader.load(value)?).clone());
                }
                Some(Arc::new(Value::Object(map)))
            }
            View::Step(record, _) => {
                let output = reader.load(&record.output)?;
                match &record.error {
                    // A failed step without output is shown by its status and error.
                    Some(error) if output.is_null() => Some(Arc::new(json!({
                        "status": step_word(record.status),
                        "error": error_value(error),
                        "data": null,
                    }))),
                    Some(_) | None => Some(output),
                }
            }
            View::End(end, _) => match end.error {
                None => reader.load(end.output),
                Some(_) => Some(Arc::new(failed_value(end, reader))),
            },
            View::Envelope { .. } => {
                let words = ["status", "data", "error", "http", "pg", "py", "meta"];
                let parts = words.iter().filter_map(|word| {
                    self.part(reader, &[word]).map(|(_, value)| ((*word).to_owned(), value))
                });
                Some(Arc::new(Value::Object(parts.collect())))
            }
            View::Labels { step, pipeline } => Some(Arc::new(labels(step, pipeline, reader)?)),
            View::Context(state) => {
                let mut map = match &*reader.load(&state.workload)? {
                    Value::Object(map) => map.clone(),
                    _ => Map::new(),
                };
                for (name, value) in &state.context {
                    map.insert(name.clone(), (*reader.load(value)?).clone());
                }
                Some(Arc::new(Value::Object(map)))
            }
            View::Steps(state) => {
                let mut map = Map::new();
                for (name, record) in &state.steps {
                    map.insert(name.to_string(), (*reader.load(&record.output)?).clone());
                }
                Some(Arc::new(Value::Object(map)))
            }
        }
    }

    /// Returns the value without copying, if all paths are its own keys.
    pub(super) fn shared(
        &self,
        reader: &ScopeReader<'a>,
        paths: &[Vec<&str>],
    ) -> Option<Arc<Value>> {
        let (payload, aliases) = match self {
            View::Plain(value) => return Some(value.clone()),
            View::Variable(payload) => (*payload, Aliases::None),
            View::Stored(payload) => (*payload, Aliases::Own),
            View::Step(record, shown) if is_plain(record.error.as_ref(), shown) => {
                (&record.output, Aliases::Own)
            }
            View::End(end, shown) if is_plain(end.error, shown) => (end.output, Aliases::Own),
            View::Context(state) => {
                let is_set = |name| state.context.contains_key(name);
                if !state.context.is_empty()
                    && paths
                        .iter()
                        .map(|path| path.first().copied())
                        .any(|name| name.is_none_or(is_set))
                {
                    return None;
                }
                (&state.workload, Aliases::Own)
            }
            View::Step(..)
            | View::End(..)
            | View::Fields(_)
            | View::Envelope { .. }
            | View::Labels { .. }
            | View::Steps(_) => return None,
        };
        let whole = reader.load(payload)?;
        paths.iter().all(|path| is_own(&whole, path, aliases)).then_some(whole)
    }

    /// Returns the values that the parts at these paths are copied from; `None` if the parts depend
    /// on anything else.
    pub(super) fn parts_of(
        &self,
        reader: &ScopeReader<'a>,
        paths: &[Vec<&str>],
    ) -> Option<(CutFrom, Vec<Arc<Value>>)> {
        if paths.iter().filter_map(|path| path.first()).any(|word| REFERENCE_WORDS.contains(word)) {
            return None;
        }
        match self {
            View::Variable(payload) => Some((CutFrom::Variable, vec![reader.load(payload)?])),
            View::Stored(payload) => Some((CutFrom::Output, vec![reader.load(payload)?])),
            View::Context(state) => {
                let of = |path: &Vec<&str>| state.context.get(*path.first()?);
                let payloads = paths.iter().map(|path| of(path).unwrap_or(&state.workload));
                let values: Option<Vec<_>> = payloads.map(|it| reader.load(it)).collect();
                Some((CutFrom::Context, values?))
            }
            View::Plain(_)
            | View::Fields(_)
            | View::Step(..)
            | View::End(..)
            | View::Envelope { .. }
            | View::Labels { .. }
            | View::Steps(_) => None,
        }
    }

    /// Returns the part that a path selects, and the number of its segments that led there.
    pub(super) fn part(&self, reader: &ScopeReader<'a>, path: &[&str]) -> Option<(usize, Value)> {
        match self {
            View::Plain(value) => owned(select(value, path, Aliases::None)),
            View::Variable(payload) => written_part(reader, payload, path),
            View::Fields(fields) => {
                let (name, rest) = path.split_first()?;
                let (_, value) = fields.iter().rfind(|(known, _)| known == name)?;
                below(1, written_part(reader, value, rest))
            }
            View::Stored(payload) => stored_part(reader, payload, path),
            View::Step(StepRecord { output, error, status, .. }, shown) => {
                let ending = (output, error.as_ref(), step_word(*status));
                selected_part(reader, output, shown, path)
                    .or_else(|| ended_part(reader, ending, shown, path))
            }
            View::End(StepEnd { output, error, .. }, shown) => {
                let ending = (*output, *error, reader.words.status(*error));
                selected_part(reader, output, shown, path)
                    .or_else(|| ended_part(reader, ending, shown, path))
            }
            View::Envelope { result, tool, retry } => {
                envelope_part(reader, result, *tool, *retry, path)
            }
            View::Labels { step, pipeline } => {
                let (label, rest) = path.split_first()?;
                let task = step.tasks.iter().position(|task| task.label == *label)?;
                let result = pipeline.results.get(&u32::try_from(task).ok()?)?;
                below(1, stored_part(reader, &result.output, rest))
            }
            View::Context(state) => {
                let (name, rest) = path.split_first()?;
                match state.context.get(*name) {
                    Some(value) => below(1, written_part(reader, value, rest)),
                    None => stored_part(reader, &state.workload, path),
                }
            }
            View::Steps(state) => {
                let (name, rest) = path.split_first()?;
                let record = state.steps.get(*name)?;
                below(1, View::Step(record, reader.shown(name)).part(reader, rest))
            }
        }
    }
}

/// True if a step's output is visible only under its own keys and the common aliases.
fn is_plain(error: Option<&ToolError>, shown: &OutputView) -> bool {
    error.is_none() && shown.selected.is_empty()
}

/// True if a path leads into a value by a key or method of the value itself.
fn is_own(value: &Value, path: &[&str], aliases: Aliases) -> bool {
    let Some(first) = path.first() else { return true };
    match value {
        Value::Object(map) => map.contains_key(*first) && !REFERENCE_WORDS.contains(first),
        Value::Array(_) => aliases == Aliases::None,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn owned(selected: Option<(usize, &Value)>) -> Option<(usize, Value)> {
    selected.map(|(depth, value)| (depth, value.clone()))
}

fn below(levels: usize, part: Option<(usize, Value)>) -> Option<(usize, Value)> {
    part.map(|(depth, value)| (depth + levels, value))
}

/// Returns a part that the step's output options give a name.
fn selected_part(
    reader: &ScopeReader<'_>,
    output: &Payload,
    shown: &OutputView,
    path: &[&str],
) -> Option<(usize, Value)> {
    let (name, rest) = path.split_first()?;
    let selected = shown.selected.iter().find(|selected| selected.name == *name)?;
    let whole = reader.load(output)?;
    let at = |path: &[String]| {
        path.iter().try_fold(&*whole, |value, segment| match value {
            Value::Array(items) => segment.parse::<usize>().ok().and_then(|at| items.get(at)),
            other => other.get(segment),
        })
    };
    let part = at(&selected.path).or_else(|| match selected.path.split_first() {
        // `data` refers to the whole output unless the output has a field `data`.
        Some((first, rest)) if first == "data" && !rest.is_empty() => at(rest),
        Some(_) | None => None,
    })?;
    below(1, owned(select(part, rest, Aliases::None)))
}

/// Returns a part of a variable, which has no aliases.
fn written_part(
    reader: &ScopeReader<'_>,
    payload: &Payload,
    path: &[&str],
) -> Option<(usize, Value)> {
    owned(select(&*reader.load(payload)?, path, Aliases::None))
}

fn stored_part(
    reader: &ScopeReader<'_>,
    payload: &Payload,
    path: &[&str],
) -> Option<(usize, Value)> {
    shown_part(reader, payload, &OutputView::default(), path)
}

fn shown_part(
    reader: &ScopeReader<'_>,
    payload: &Payload,
    shown: &OutputView,
    path: &[&str],
) -> Option<(usize, Value)> {
    if let Some((word, _)) = path.split_first()
        && REFERENCE_WORDS.contains(word)
        && let Some(reference) = reference_of(payload, shown.reference_above)
        && let Some(value) = reference_word(reader, payload, reference, (word, shown))
    {
        return Some((1, value));
    }
    owned(select(&*reader.load(payload)?, path, Aliases::Own))
}

/// Returns the reference of a result larger than `above`. For an inline value it is computed from
/// the content, so that the answer does not depend on whether its event was written yet.
fn reference_of(payload: &Payload, above: u64) -> Option<PayloadRef> {
    let reference = match payload {
        Payload::Ref(reference) => *reference,
        Payload::Inline(value) => {
            let bytes = serde_json::to_vec(&**value).expect("a JSON value has a JSON text");
            let size = u64::try_from(bytes.len()).expect("a length in memory fits");
            PayloadRef { digest: Digest::of(&bytes), size }
        }
    };
    (reference.size > above).then_some(reference)
}

/// Returns the value of `_ref`, `_store` or `_preview` of a large result.
fn reference_word(
    reader: &ScopeReader<'_>,
    payload: &Payload,
    reference: PayloadRef,
    (word, shown): (&str, &OutputView),
) -> Option<Value> {
    let PayloadRef { digest, size } = reference;
    match word {
        "_ref" => Some(json!({
            "kind": "result_ref",
            "ref": format!("noetl://payload/{digest}"),
            "sha256": digest.to_string(),
            "bytes": size,
            "store": store_word(size, shown),
            "scope": shown.scope.as_str(),
            "meta": { "bytes": size, "sha256": digest.to_string(), "media_type": "application/json" },
        })),
        "_store" => Some(json!(store_word(size, shown))),
        "_preview" => {
            let text = reader.load(payload)?.to_string();
            let end = text.floor_char_boundary(shown.preview_max.min(text.len()));
            Some(json!(text[..end]))
        }
        _ => None,
    }
}

fn store_word(size: u64, shown: &OutputView) -> &'static str {
    let by_size = if size < STORE_DISK_FROM { StoreWord::Kv } else { StoreWord::Disk };
    shown.store.unwrap_or(by_size).as_str()
}

/// Returns a part of a step's output, status or error.
fn ended_part(
    reader: &ScopeReader<'_>,
    (output, error, status): (&Payload, Option<&ToolError>, &'static str),
    shown: &OutputView,
    path: &[&str],
) -> Option<(usize, Value)> {
    let about_end = ending_part(path, error, status);
    match error {
        // For a failed step, status and error shadow keys of its output with the same names.
        Some(_) => about_end
            .or_else(|| shown_part(reader, output, shown, path))
            .filter(|(depth, value)| *depth > 0 || !value.is_null()),
        None => shown_part(reader, output, shown, path).or(about_end),
    }
}

fn ending_part(
    path: &[&str],
    error: Option<&ToolError>,
    status: &'static str,
) -> Option<(usize, Value)> {
    let (word, rest) = path.split_first()?;
    match *word {
        "status" => Some((1, json!(status))),
        // A successful step has no `error`, so that `result.error is defined` tells the two apart.
        "error" => below(1, owned(select(&error_value(error?), rest, Aliases::None))),
        _ => None,
    }
}

/// Returns the result of a loop item whose failure a rule handled.
pub(crate) fn failed_result(error: &ToolError, data: &Value) -> Value {
    json!({ "status": "error", "error": error_value(error), "data": data })
}

fn failed_value(end: &StepEnd<'_>, reader: &ScopeReader<'_>) -> Value {
    let data = reader.load(end.output).map_or(Value::Null, |value| (*value).clone());
    let error = end.error.map_or(Value::Null, error_value);
    json!({ "status": reader.words.status(end.error), "error": error, "data": data })
}

fn envelope_part(
    reader: &ScopeReader<'_>,
    result: &TaskResult,
    tool: ToolKind,
    retry: u32,
    path: &[&str],
) -> Option<(usize, Value)> {
    let (word, rest) = path.split_first()?;
    let error = result.error.as_ref();
    let value = match *word {
        "data" | "result" => {
            let data = reader.load(&result.output)?;
            let aliases = if tool == ToolKind::Http { Aliases::OwnOrBody } else { Aliases::Own };
            return below(1, owned(select(&data, rest, aliases)));
        }
        "status" => json!(reader.words.status(error)),
        "error" => error.map_or(Value::Null, error_value),
        "http" if tool == ToolKind::Http => {
            let data = reader.load(&result.output)?;
            let status = error.and_then(|error| error.status).map(Value::from);
            json!({
                "status": status.or_else(|| data.get("status_code").cloned()),
                "headers": data.get("headers"),
            })
        }
        "pg" if tool == ToolKind::Postgres => {
            let code = error.and_then(|error| error.code.clone());
            json!({ "code": code, "sqlstate": code })
        }
        "py" if tool == ToolKind::Python => {
            json!({ "exception_type": error.and_then(|error| error.code.clone()) })
        }
        "meta" => json!({ "attempt": retry + 1, "duration_ms": result.duration_ms }),
        "ref" => match &result.output {
            Payload::Ref(reference) => json!(format!("noetl://payload/{}", reference.digest)),
            Payload::Inline(_) => Value::Null,
        },
        _ => return None,
    };
    below(1, owned(select(&value, rest, Aliases::None)))
}

fn step_word(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Running => "running",
        StepStatus::Completed => "success",
        StepStatus::Failed => "error",
        StepStatus::Skipped => "skipped",
        StepStatus::Cancelled => "cancelled",
    }
}

fn labels(step: &Step, pipeline: &Pipeline, reader: &ScopeReader<'_>) -> Option<Value> {
    let mut map = Map::new();
    for (task, result) in &pipeline.results {
        let task = usize::try_from(*task).ok().and_then(|task| step.tasks.get(task))?;
        map.insert(task.label.clone(), (*reader.load(&result.output)?).clone());
    }
    Some(Value::Object(map))
}

/// Returns an error as rules and arcs see it.
pub(super) fn error_value(error: &ToolError) -> Value {
    json!({
        "kind": error.kind,
        "message": error.message,
        "retryable": error.retryable,
        "code": error.code,
        "status": error.status,
        "status_code": error.status,
        "http_status": error.status,
        "exception_type": error.code,
        "pg_code": error.code,
        "details": error.details,
    })
}
