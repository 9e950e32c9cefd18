//! The settings of an approval: its title, form, approvers and deadline.

use std::time::Duration;

use noetl_model::{
    APPROVAL_DESCRIPTION_MAX, APPROVAL_TITLE_MAX, APPROVERS_MAX, ApprovalRequest, ApprovalTimeout,
    CommandId, ErrorKind, RejectionEffect, Timestamp, ToolError,
};
use noetl_playbook::{Completeness, DecisionForm, FormProblem};
use serde_json::{Map, Value};

use crate::lease::rendered_config;
use crate::wait::duration;
use crate::{DecisionArgs, Execution, Needs};

/// The key of the index entries of open approvals.
pub const APPROVAL_INDEX_KEY: &str = "open";

/// Returns the approval that an open command requests; the error if its settings are invalid.
/// `written` is the timeout of the task if the settings have none.
pub(crate) fn approval_request(
    state: &Execution,
    command: CommandId,
    written: Option<Duration>,
    given: DecisionArgs<'_>,
) -> Result<Result<ApprovalRequest, ToolError>, Needs> {
    let now = state.event_time(given.now);
    let rendered = rendered_config(state, command, given)?;
    Ok(rendered.and_then(|config| {
        request_of(&config, written, now)
            .map_err(|message| ToolError::new(ErrorKind::Config, message))
    }))
}

fn request_of(
    config: &Map<String, Value>,
    written: Option<Duration>,
    now: Timestamp,
) -> Result<ApprovalRequest, String> {
    let given = |key: &str| config.get(key).filter(|value| !value.is_null());
    let title = given("title").map(|title| text("title", title, APPROVAL_TITLE_MAX));
    let title = title.ok_or("an approval needs a `title`")??;
    let description = given("description")
        .map(|description| text("description", description, APPROVAL_DESCRIPTION_MAX));
    let form = given("form").cloned();
    let timeout = given("timeout_seconds").or(given("timeout"));
    let timeout = timeout.map(|timeout| duration("timeout", timeout)).transpose()?.or(written);
    let on_timeout = match word(given("on_timeout")).as_deref() {
        None | Some("fail") => ApprovalTimeout::Fail,
        Some("approve") => ApprovalTimeout::Approve,
        Some("reject") => ApprovalTimeout::Reject,
        Some(other) => {
            return Err(format!("`on_timeout` is `approve`, `reject` or `fail`, not `{other}`"));
        }
    };
    let on_reject = match word(given("on_reject")).as_deref() {
        None | Some("fail") => RejectionEffect::Fail,
        Some("continue") => RejectionEffect::Continue,
        Some(other) => return Err(format!("`on_reject` is `fail` or `continue`, not `{other}`")),
    };
    if let Some(schema) = &form {
        let read = DecisionForm::parse(schema).map_err(|problems| problems.join("; "))?;
        if on_timeout == ApprovalTimeout::Approve {
            read.check(&Map::new(), Completeness::Complete).map_err(|problems| {
                format!("`on_timeout: approve` needs defaults for the form: {}", joined(&problems))
            })?;
        }
    }
    Ok(ApprovalRequest {
        title,
        description: description.transpose()?,
        form,
        approvers: approvers(given("approvers"))?,
        deadline: timeout.map(|timeout| now.after(timeout)),
        on_timeout,
        on_reject,
    })
}

/// Returns the form of an approval; an empty one if it has none.
pub fn form_of(request: &ApprovalRequest) -> DecisionForm {
    let form = request.form.as_ref().and_then(|schema| DecisionForm::parse(schema).ok());
    form.unwrap_or_default()
}

/// Returns problems of values as one sentence.
pub(crate) fn joined(problems: &[FormProblem]) -> String {
    problems.iter().map(FormProblem::to_string).collect::<Vec<_>>().join("; ")
}

fn word(value: Option<&Value>) -> Option<String> {
    value.map(|value| match value {
        Value::String(word) => word.trim().to_ascii_lowercase(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    })
}

fn text(key: &str, value: &Value, len_max: usize) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(format!("`{key}` is a text, not `{value}`"));
        }
    };
    match text.chars().count() {
        0 => Err(format!("`{key}` is empty")),
        len if len > len_max => Err(format!("`{key}` has at most {len_max} characters, not {len}")),
        _ => Ok(text),
    }
}

/// Reads the names of approvers: a list, or text with commas between the names.
fn approvers(value: Option<&Value>) -> Result<Vec<String>, String> {
    let names: Vec<String> = match value {
        None => return Ok(Vec::new()),
        Some(Value::String(names)) => names.split(',').map(|name| name.trim().to_owned()).collect(),
        Some(Value::Array(names)) => {
            let names = names.iter().map(|name| text("approvers", name, APPROVAL_TITLE_MAX));
            names.collect::<Result<_, _>>()?
        }
        Some(other) => return Err(format!("`approvers` is a list of names, not `{other}`")),
    };
    // An empty list would let everyone decide, which its author cannot have meant.
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err("`approvers` has no name, or an empty one".to_owned());
    }
    if names.len() > APPROVERS_MAX {
        return Err(format!("`approvers` has {} names; {APPROVERS_MAX} are allowed", names.len()));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(config: Value) -> Result<ApprovalRequest, String> {
        let Value::Object(config) = config else { panic!("a map") };
        request_of(&config, None, Timestamp::from_millis(1_000_000))
    }

    #[test]
    fn settings_become_a_request() {
        let found = request(json!({
            "title": " Release 1.4 ",
            "form": { "properties": { "share": { "type": "integer", "default": 10 } } },
            "approvers": "ada, grace",
            "timeout": "1h",
            "on_timeout": "Approve",
            "on_reject": "continue",
        }));
        let found = found.expect("a request");
        assert_eq!(found.title, "Release 1.4");
        assert_eq!(found.approvers, ["ada", "grace"]);
        assert_eq!(found.deadline, Some(Timestamp::from_millis(4_600_000)));
        assert_eq!(found.on_timeout, ApprovalTimeout::Approve);
        assert_eq!(found.on_reject, RejectionEffect::Continue);
        assert_eq!(form_of(&found).fields.len(), 1);
    }

    #[track_caller]
    fn refused(config: Value, expected: &str) {
        assert_eq!(request(config).expect_err("no request"), expected);
    }

    #[test]
    fn wrong_settings_name_their_key() {
        refused(json!({}), "an approval needs a `title`");
        refused(json!({ "title": " " }), "`title` is empty");
        refused(json!({ "title": ["x"] }), r#"`title` is a text, not `["x"]`"#);
        refused(
            json!({ "title": "x".repeat(APPROVAL_TITLE_MAX + 1) }),
            "`title` has at most 200 characters, not 201",
        );
        refused(
            json!({ "title": "x", "approvers": [] }),
            "`approvers` has no name, or an empty one",
        );
        refused(json!({ "title": "x", "approvers": 5 }), "`approvers` is a list of names, not `5`");
        refused(
            json!({ "title": "x", "on_timeout": "explode" }),
            "`on_timeout` is `approve`, `reject` or `fail`, not `explode`",
        );
        refused(
            json!({ "title": "x", "on_reject": "explode" }),
            "`on_reject` is `fail` or `continue`, not `explode`",
        );
        refused(
            json!({ "title": "x", "form": { "properties": 5, "oneOf": [] } }),
            "the form has the keyword `oneOf`, which forms do not support; `properties` is a map \
             of fields",
        );
        refused(
            json!({
                "title": "x",
                "on_timeout": "approve",
                "form": { "required": ["a"], "properties": { "a": {} } },
            }),
            "`on_timeout: approve` needs defaults for the form: `a` is required",
        );
    }
}
