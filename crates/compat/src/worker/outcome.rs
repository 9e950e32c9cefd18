//! Converts the results that existing workers send to outcomes of commands.
//!
//! A tool's result is `{status, data, error, stdout, stderr, …}`, wrapped as `{result: {status,
//! context: <result>}}`.

use noetl_model::{ErrorKind, Logs, Outcome, ToolError, ToolKind};
use serde_json::{Value, json};

use super::normalized::{WorkerResult, normalized, normalized_error};
use super::status::{ToolStatus, UnknownToolStatus};

/// Keys of a tool's result besides its status.
const WHOLE_KEYS: &[&str] = &["data", "error", "stdout", "stderr", "exit_code", "duration_ms"];

/// The result of a tool that has returned.
#[derive(Debug, Clone, PartialEq)]
pub enum Returned {
    Ended {
        outcome: Outcome,
        logs: Logs,
    },
    /// The result arrives later, through a callback.
    Pending,
}

/// Returns the reference of a result that was stored before it was reported.
pub fn reference(context: &Value) -> Option<&str> {
    let envelope = context.get("result")?;
    let named = envelope.pointer("/reference/ref");
    named.or_else(|| envelope.pointer("/context/data/_ref"))?.as_str()
}

/// Replaces the reference in an event's context by the stored result: the tool's whole result, or
/// its data.
pub fn with_stored(context: &Value, stored: &Value) -> Value {
    let told = context.pointer("/result/status").cloned().unwrap_or(Value::Null);
    let is_whole = is_whole(stored, &told);
    let tool = if is_whole { stored.clone() } else { json!({ "status": told, "data": stored }) };
    with_result(context, json!({ "status": told, "context": tool }))
}

/// True if a stored value is a tool's result, not its data: it has the keys of one, and a status that
/// does not contradict the status `told` with its reference.
fn is_whole(stored: &Value, told: &Value) -> bool {
    let is_word = stored.get("status").and_then(Value::as_str).is_some_and(|status| {
        ["success", "error", "timeout"].contains(&status.to_ascii_lowercase().as_str())
    });
    let agrees =
        told.is_null() || ToolStatus::of(stored.get("status")) == ToolStatus::of(Some(told));
    is_word && agrees && WHOLE_KEYS.iter().any(|key| stored.get(key).is_some())
}

/// Replaces the reference in an event's context by an error, because the result is not stored here.
pub fn without_stored(context: &Value, reference: &str) -> Value {
    let error = format!("the result {reference} is not stored here");
    let tool = json!({ "status": "error", "error": error });
    with_result(context, json!({ "status": "error", "context": tool }))
}

fn with_result(context: &Value, result: Value) -> Value {
    let mut context = context.clone();
    context["result"] = result;
    context
}

/// Parses the context of `call.done`.
pub fn returned(kind: ToolKind, context: &Value) -> Result<Returned, UnknownToolStatus> {
    let envelope = context.get("result").unwrap_or(&Value::Null);
    let tool = match envelope.get("context") {
        Some(tool) => tool,
        None if envelope.get("reference").is_some() => {
            let message = "the result was too large to be sent with its event";
            let error = ToolError::new(ErrorKind::StorageQuota, message);
            let outcome = Outcome::failed(error);
            return Ok(Returned::Ended { outcome, logs: Logs::default() });
        }
        None => envelope,
    };
    if waits(context) {
        return Ok(Returned::Pending);
    }
    let (status, data) = status_and_output(tool, envelope)?;
    let result = WorkerResult {
        status,
        data,
        error: tool.get("error").filter(|error| !error.is_null()).map(text),
        stderr: logs(tool).stderr,
        exit_code: tool.get("exit_code").and_then(Value::as_i64),
    };
    Ok(Returned::of(kind, normalized(kind, result), logs(tool)))
}

impl Returned {
    /// A container without a result has been started and reports its end by a callback.
    fn of(kind: ToolKind, outcome: Outcome, logs: Logs) -> Self {
        if kind == ToolKind::Container && outcome == Outcome::completed(Value::Null) {
            return Self::Pending;
        }
        Self::Ended { outcome, logs }
    }
}

/// True if the worker says that a callback will bring the result of its tool.
fn waits(context: &Value) -> bool {
    let places =
        ["/pending_callback", "/result/pending_callback", "/result/context/pending_callback"];
    places.iter().any(|place| context.pointer(place) == Some(&Value::Bool(true)))
}

/// Splits what a tool sent into its status and its output. A worker repeats the status of a tool's
/// result in the envelope, so a `status` that differs from the envelope's belongs to the output,
/// unless other keys of a tool's result stand next to it.
fn status_and_output(
    tool: &Value,
    envelope: &Value,
) -> Result<(ToolStatus, Value), UnknownToolStatus> {
    let status = ToolStatus::of(tool.get("status").or_else(|| envelope.get("status")));
    match envelope.get("status").filter(|status| !status.is_null()) {
        Some(of_envelope) if is_output(tool, &status) => {
            let of_envelope = ToolStatus::of(Some(of_envelope))?;
            match status {
                Ok(status) if status == of_envelope => Ok((status, output_of(tool))),
                Ok(_) | Err(_) => Ok((of_envelope, tool.clone())),
            }
        }
        Some(_) | None => Ok((status?, output_of(tool))),
    }
}

/// True if a value can be an output with a field `status` of its own: it has no other key of a tool's
/// result, and more than a status that would be known as a tool's.
fn is_output(tool: &Value, status: &Result<ToolStatus, UnknownToolStatus>) -> bool {
    let has_more = tool.as_object().is_some_and(|map| map.len() > 1);
    WHOLE_KEYS.iter().all(|key| tool.get(key).is_none()) && (has_more || status.is_err())
}

fn output_of(tool: &Value) -> Value {
    tool.get("data").cloned().unwrap_or_else(|| without_status(tool))
}

/// Parses the context of `call.error` and `command.failed`.
pub fn failed(kind: ToolKind, context: &Value) -> Outcome {
    let message = context.get("error").map_or_else(|| "the command failed".to_owned(), text);
    Outcome::failed(normalized_error(kind, &message))
}

/// Parses the context of `command.completed`, if no result came before it.
pub fn completed(
    kind: ToolKind,
    context: &Value,
    status: Option<&str>,
) -> Result<Returned, UnknownToolStatus> {
    let in_context = context.get("status").filter(|it| !it.is_null()).cloned();
    let told = in_context.or_else(|| status.map(Value::from));
    let status = ToolStatus::of(told.as_ref())?;
    let outcome = match status {
        ToolStatus::Success if waits(context) => return Ok(Returned::Pending),
        ToolStatus::Success => Outcome::completed(Value::Null),
        ToolStatus::Error | ToolStatus::Timeout => {
            let error = ToolError::new(status.kind(), "the tool failed without saying why");
            Outcome::failed(error)
        }
    };
    Ok(Returned::of(kind, outcome, Logs::default()))
}

fn without_status(tool: &Value) -> Value {
    let mut rest = tool.clone();
    if let Some(rest) = rest.as_object_mut() {
        for key in ["status", "error", "duration_ms"] {
            rest.remove(key);
        }
        if rest.is_empty() {
            return Value::Null;
        }
    }
    rest
}

fn logs(tool: &Value) -> Logs {
    let stream = |name: &str| tool.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Logs { stdout: stream("stdout"), stderr: stream("stderr") }
}

/// Returns an error message, sent as text or as an object with `message`.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => match map.get("message") {
            Some(Value::String(message)) => message.clone(),
            Some(_) | None => value.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(tool: Value, expected: Expect) {
        let told = returned(
            ToolKind::Rhai,
            &json!({ "command_id": "1:a:2", "call_index": 0, "result": tool }),
        );
        let told = match told.expect("a known status") {
            Returned::Pending => "pending".to_owned(),
            Returned::Ended { outcome, logs } => {
                format!("{} {logs:?}", serde_json::to_string(&outcome).expect("JSON"))
            }
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn the_data_of_a_tool_is_the_output() {
        check(
            json!({ "status": "success", "context": { "status": "success", "data": { "x": 1 }, "stdout": "hi" } }),
            expect![[
                r#"{"status":"completed","output":{"x":1}} Logs { stdout: "hi", stderr: "" }"#
            ]],
        );
    }

    #[test]
    fn an_unknown_status_within_the_output_belongs_to_the_output() {
        check(
            json!({ "status": "success", "context": { "status": "shipped", "order": 7 } }),
            expect![[
                r#"{"status":"completed","output":{"status":"shipped","order":7}} Logs { stdout: "", stderr: "" }"#
            ]],
        );
        let of_tool = json!({ "status": "success", "context": { "status": "shipped", "data": 7 } });
        assert!(
            returned(ToolKind::Rhai, &json!({ "result": of_tool })).is_err(),
            "the status of a tool's result"
        );
    }

    #[test]
    fn a_known_status_that_differs_from_the_envelopes_belongs_to_the_output() {
        check(
            json!({ "status": "success", "context": { "status": "failed", "order": 7 } }),
            expect![[
                r#"{"status":"completed","output":{"status":"failed","order":7}} Logs { stdout: "", stderr: "" }"#
            ]],
        );
        check(
            json!({ "status": "success", "context": { "status": "failed" } }),
            expect![[
                r#"{"status":"failed","error":{"kind":"exception","message":"the tool failed","retryable":false}} Logs { stdout: "", stderr: "" }"#
            ]],
        );
        check(
            json!({ "status": "success", "context": { "status": "error", "error": "no" } }),
            expect![[
                r#"{"status":"failed","error":{"kind":"exception","message":"no","retryable":false}} Logs { stdout: "", stderr: "" }"#
            ]],
        );
    }

    #[test]
    fn a_stored_value_with_a_status_of_its_own_is_data() {
        let context = json!({ "result": { "status": "success", "reference": { "ref": "x" } } });
        let data = json!({ "status": "error", "data": [1] });
        let tool = json!({ "status": "success", "data": data });
        let stored = |value: &Value| with_stored(&context, value)["result"]["context"].clone();
        assert_eq!(stored(&data), tool);
        assert_eq!(stored(&tool), tool);
    }

    #[test]
    fn a_tool_that_ended_in_error_has_failed() {
        check(
            json!({ "status": "error", "context": { "status": "error", "error": "no such host", "data": null } }),
            expect![[
                r#"{"status":"failed","error":{"kind":"exception","message":"no such host","retryable":false}} Logs { stdout: "", stderr: "" }"#
            ]],
        );
    }

    #[test]
    fn a_tool_that_ran_out_of_time_may_be_tried_again() {
        check(
            json!({ "status": "timeout", "context": { "status": "timeout" } }),
            expect![[
                r#"{"status":"failed","error":{"kind":"timeout","message":"the tool failed","retryable":true}} Logs { stdout: "", stderr: "" }"#
            ]],
        );
    }

    #[test]
    fn a_result_that_was_left_behind_is_a_failure() {
        check(
            json!({ "status": "success", "reference": { "ref": "x" } }),
            expect![[
                r#"{"status":"failed","error":{"kind":"storage_quota","message":"the result was too large to be sent with its event","retryable":false}} Logs { stdout: "", stderr: "" }"#
            ]],
        );
    }

    #[test]
    fn a_result_that_comes_later_ends_nothing() {
        check(json!({ "context": { "pending_callback": true } }), expect!["pending"]);
    }

    #[test]
    fn command_completed_with_an_error_is_a_failure() {
        check_completed(ToolKind::Rhai, json!({ "status": "error" }), None, "failed");
        check_completed(ToolKind::Rhai, json!({}), Some("success"), "completed");
    }

    #[track_caller]
    fn check_completed(kind: ToolKind, context: Value, status: Option<&str>, expected: &str) {
        let told = match completed(kind, &context, status).expect("a known status") {
            Returned::Pending => "pending",
            Returned::Ended { outcome: Outcome::Completed { .. }, .. } => "completed",
            Returned::Ended { outcome: Outcome::Failed { .. }, .. } => "failed",
        };
        assert_eq!(told, expected, "{kind} {context} {status:?}");
    }

    #[test]
    fn any_tool_waits_whose_worker_says_so_and_a_container_without_a_result() {
        let pending = json!({ "pending_callback": true, "status": "success" });
        check_completed(ToolKind::Http, pending.clone(), None, "pending");
        check_completed(ToolKind::Container, pending, Some("success"), "pending");
        check_completed(ToolKind::Container, json!({ "status": "success" }), None, "pending");
        let within = json!({ "result": { "context": { "pending_callback": true } } });
        check_completed(ToolKind::Python, within, Some("success"), "pending");
        let no = json!({ "pending_callback": false });
        check_completed(ToolKind::Http, no, Some("success"), "completed");
    }

    #[test]
    fn a_job_that_was_not_started_is_not_waited_for() {
        let failed = json!({ "pending_callback": true, "status": "error" });
        check_completed(ToolKind::Container, failed, None, "failed");
        check_completed(ToolKind::Container, json!({ "status": "timeout" }), None, "failed");
    }

    #[test]
    fn a_status_that_is_not_known_is_no_success() {
        let tool = json!({ "status": "shipped", "duration_ms": 5 });
        let result = json!({ "status": "success", "context": tool });
        let error = returned(ToolKind::Rhai, &json!({ "result": result })).unwrap_err();
        assert_eq!(error, UnknownToolStatus("`shipped`".to_owned()));
        assert!(completed(ToolKind::Rhai, &json!({}), Some("shipped")).is_err());
    }
}
