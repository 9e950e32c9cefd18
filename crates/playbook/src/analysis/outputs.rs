//! The fields of outputs that always have the same ones: by the tool and its settings, by the labels of a
//! pipeline, by a loop.

use noetl_model::ToolKind;
use serde_json::{Map, Value};

use crate::inputs::InputType;
use crate::playbook::{BodyForm, LoopSource, Step, Task};

/// The fields of every output of a step in templates, besides those of its tool.
const OF_EVERY_STEP: [&str; 8] =
    ["data", "result", "results", "status", "error", "_ref", "_store", "_preview"];

/// The fields of an output.
pub(crate) struct OutputFields<'p> {
    pub(crate) names: Vec<&'p str>,
    /// True if the output has no others.
    pub(super) is_complete: bool,
    /// True if the output has a field `command_0`, `command_1`, … for each statement of a script.
    has_statements: bool,
}

impl OutputFields<'_> {
    pub(super) fn has(&self, name: &str) -> bool {
        let number = name.strip_prefix("command_").filter(|_| self.has_statements);
        self.names.contains(&name)
            || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// Returns the fields of a tool's output, if they do not depend on its settings.
pub(crate) fn tool_fields(tool: ToolKind) -> Option<&'static [&'static str]> {
    Some(match tool {
        ToolKind::Approval => {
            &["approved", "decision", "values", "actor", "comment", "decided_at", "timed_out"]
        }
        ToolKind::Duckdb | ToolKind::Postgres | ToolKind::Sqlite => {
            &["rows", "row_count", "columns", "affected_rows", "status"]
        }
        ToolKind::Http => &["status_code", "headers", "body", "data"],
        ToolKind::Script => &["output", "exit_code", "stdout", "stderr", "status"],
        ToolKind::Secrets => &["credential", "type", "fields"],
        ToolKind::Shell => &["exit_code", "stdout", "stderr"],
        ToolKind::Transfer => &[
            "rows_transferred",
            "chunks_processed",
            "columns",
            "status",
            "direction",
            "source_type",
            "target_type",
            "target_table",
            "mode",
        ],
        ToolKind::Agent
        | ToolKind::Artifact
        | ToolKind::Container
        | ToolKind::Ducklake
        | ToolKind::Gateway
        | ToolKind::Gcs
        | ToolKind::Mcp
        | ToolKind::Nats
        | ToolKind::Noop
        | ToolKind::Playbook
        | ToolKind::Python
        | ToolKind::ResultFetch
        | ToolKind::Rhai
        | ToolKind::Snowflake
        | ToolKind::Subscription
        | ToolKind::Wait
        | ToolKind::Wasm => return None,
    })
}

/// Returns the type of a field that the tool always gives.
pub(super) fn field_type(tool: ToolKind, field: &str) -> Option<InputType> {
    match (tool, field) {
        (ToolKind::Http, "status_code")
        | (ToolKind::Shell | ToolKind::Script, "exit_code")
        | (ToolKind::Duckdb | ToolKind::Postgres | ToolKind::Sqlite, "row_count")
        | (ToolKind::Transfer, "rows_transferred" | "chunks_processed") => Some(InputType::Integer),
        (ToolKind::Duckdb | ToolKind::Postgres | ToolKind::Sqlite, "rows" | "columns") => {
            Some(InputType::List)
        }
        (ToolKind::Http, "headers") => Some(InputType::Object),
        (ToolKind::Approval, "approved" | "timed_out") | (ToolKind::Wait, "timed_out") => {
            Some(InputType::Boolean)
        }
        (_, _) => None,
    }
}

/// True if the output of a step certainly has no field of this name of its own.
pub(super) fn lacks_own(step: &Step, field: &str) -> bool {
    let is_declared = step.output_rule().is_some();
    let is_selected = step.output.selected.iter().any(|selected| selected.name == field);
    let lacks = |fields: OutputFields<'_>| fields.is_complete && !fields.has(field);
    !is_declared && !is_selected && fixed_fields(step).is_some_and(lacks)
}

/// Returns the fields of a task's output, if its tool and settings determine them.
pub(super) fn task_fields(task: &Task) -> Option<OutputFields<'_>> {
    let config = task.config.source().as_object();
    let names = match task.tool {
        ToolKind::Nats => nats_fields(config?.get("operation")?.as_str()?)?.to_vec(),
        ToolKind::Noop => noop_fields(config?)?,
        ToolKind::Playbook => child_fields(config?)?.to_vec(),
        ToolKind::Subscription => subscription_fields(config?)?.to_vec(),
        ToolKind::Wait => wait_fields(config?)?.to_vec(),
        ToolKind::Agent
        | ToolKind::Approval
        | ToolKind::Artifact
        | ToolKind::Container
        | ToolKind::Duckdb
        | ToolKind::Ducklake
        | ToolKind::Gateway
        | ToolKind::Gcs
        | ToolKind::Http
        | ToolKind::Mcp
        | ToolKind::Postgres
        | ToolKind::Python
        | ToolKind::ResultFetch
        | ToolKind::Rhai
        | ToolKind::Script
        | ToolKind::Secrets
        | ToolKind::Shell
        | ToolKind::Snowflake
        | ToolKind::Sqlite
        | ToolKind::Transfer
        | ToolKind::Wasm => tool_fields(task.tool)?.to_vec(),
    };
    let has_statements =
        matches!(task.tool, ToolKind::Duckdb | ToolKind::Postgres | ToolKind::Sqlite);
    Some(OutputFields { names, is_complete: true, has_statements })
}

fn nats_fields(operation: &str) -> Option<&'static [&'static str]> {
    Some(match operation {
        "kv_get" => &["value", "key", "bucket", "status"],
        "kv_put" => &["revision", "key", "bucket", "status"],
        "kv_delete" | "kv_purge" => &["key", "bucket", "status"],
        "kv_keys" => &["keys", "count", "bucket", "status"],
        "object_put" => &["size", "name", "bucket", "status"],
        "object_get" => &["data", "size", "name", "bucket", "status"],
        "object_info" => &["size", "chunks", "digest", "description", "name", "bucket", "status"],
        "object_list" => &["objects", "count", "bucket", "status"],
        "object_delete" => &["name", "bucket", "status"],
        "publish" => &["subject", "status"],
        "request" => &["data", "headers", "subject", "status"],
        "js_publish" => &["stream", "seq", "duplicate", "status"],
        "js_consume" => &["messages", "count", "acked", "stream", "consumer", "status"],
        "js_get_msg" => &["data", "headers", "subject", "seq", "stream", "status"],
        "js_stream_info" => &["state", "config", "stream", "status"],
        _ => return None,
    })
}

/// Returns the keys of a literal result; none if the result is no map, since its type is fixed.
fn noop_fields(config: &Map<String, Value>) -> Option<Vec<&str>> {
    match config.get("result") {
        None | Some(Value::Null) => Some(vec!["message", "status"]),
        Some(Value::Object(result)) => {
            let is_literal = !result.keys().any(|key| key.contains("{{") || key.contains("{%"));
            is_literal.then(|| result.keys().map(String::as_str).collect())
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => None,
    }
}

/// Returns the fields of a child that the step does not wait for.
fn child_fields(config: &Map<String, Value>) -> Option<&'static [&'static str]> {
    let is_unset =
        |key: &str| matches!(config.get(key), None | Some(Value::Null | Value::Bool(false)));
    let keys = ["wait", "return_step", "return_result", "result_step"];
    keys.into_iter().all(is_unset).then_some(&["execution_id", "path", "status", "async"])
}

fn subscription_fields(config: &Map<String, Value>) -> Option<&'static [&'static str]> {
    match config.get("operation") {
        None | Some(Value::Null) => {}
        Some(Value::String(operation)) => match operation.as_str() {
            "poll" => {}
            "ack" | "nack" | "term" => {
                return Some(&["requested", "disposed", "errors", "operation", "source", "status"]);
            }
            _ => return None,
        },
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return None;
        }
    }
    Some(&[
        "messages",
        "count",
        "ack_ids",
        "acked",
        "ack_mode",
        "metrics",
        "operation",
        "source",
        "status",
    ])
}

fn wait_fields(config: &Map<String, Value>) -> Option<&'static [&'static str]> {
    let has = |key: &str| config.get(key).is_some_and(|value| !value.is_null());
    if has("signal") {
        return Some(&["body", "signal", "sender", "actor", "received_at", "timed_out", "key"]);
    }
    (has("for") || has("until")).then_some(&["ended_at", "timed_out"])
}

/// Returns the fields of a step's output, by its tools and its loop.
fn fixed_fields(step: &Step) -> Option<OutputFields<'_>> {
    match &step.repeat {
        Some(repeat) => match repeat.source {
            LoopSource::In(_) => Some(OutputFields {
                names: vec!["results", "stats", "too_large"],
                is_complete: true,
                has_statements: false,
            }),
            LoopSource::Cursor(_) => None,
        },
        None => match (step.form, step.tasks.as_slice()) {
            (BodyForm::Single, [task]) => task_fields(task),
            (BodyForm::Single, _) => None,
            (BodyForm::Pipeline, tasks) => Some(pipeline_fields(tasks)),
        },
    }
}

/// Returns the fields of a step's output, by its tools, its loop and its `output_schema`.
pub(super) fn output_fields(step: &Step) -> OutputFields<'_> {
    let fixed = fixed_fields(step);
    let declared = step.output_rule().and_then(|rule| rule.object.as_ref());
    let is_closed = declared.is_some_and(|object| !object.allows_others);
    let always = (fixed.is_some() || declared.is_some()).then_some(OF_EVERY_STEP);
    let mut fields = fixed.unwrap_or(OutputFields {
        names: Vec::new(),
        is_complete: false,
        has_statements: false,
    });
    fields.is_complete |= is_closed;
    let declared = declared.into_iter().flat_map(|object| object.fields.keys().map(String::as_str));
    fields.names.extend(declared);
    fields.names.extend(step.output.selected.iter().map(|selected| selected.name.as_str()));
    fields.names.extend(always.into_iter().flatten());
    fields
}

/// Returns the labels of the tasks, and the fields of their outputs, which are fields of the pipeline's.
fn pipeline_fields(tasks: &[Task]) -> OutputFields<'_> {
    let names = tasks.iter().map(|task| task.label.as_str()).collect();
    let mut all = OutputFields { names, is_complete: true, has_statements: false };
    for task in tasks {
        match task_fields(task) {
            Some(fields) => {
                all.names.extend(fields.names);
                all.has_statements |= fields.has_statements;
            }
            None => all.is_complete = false,
        }
    }
    all
}
