//! Results of existing workers in the form of our own tools: the output, and the kind, code and
//! status of an error.

use std::sync::Arc;

use noetl_model::{ErrorKind, Outcome, ToolError, ToolKind};
use serde_json::{Map, Value, json};

use super::status::ToolStatus;

/// A tool's result as an existing worker reports it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WorkerResult {
    pub(super) status: ToolStatus,
    pub(super) data: Value,
    pub(super) error: Option<String>,
    pub(super) stderr: String,
    pub(super) exit_code: Option<i64>,
}

/// Converts a result to the outcome that our own tool has for the same call.
pub(super) fn normalized(tool: ToolKind, result: WorkerResult) -> Outcome {
    match tool {
        ToolKind::Http => http(result),
        ToolKind::Shell => shell(result),
        ToolKind::Python => python(result),
        ToolKind::Postgres | ToolKind::Duckdb | ToolKind::Sqlite => sql(result),
        ToolKind::Noop => noop(result),
        ToolKind::Mcp => mcp(result),
        ToolKind::Agent
        | ToolKind::Artifact
        | ToolKind::Container
        | ToolKind::Ducklake
        | ToolKind::Gateway
        | ToolKind::Gcs
        | ToolKind::Nats
        | ToolKind::Playbook
        | ToolKind::ResultFetch
        | ToolKind::Rhai
        | ToolKind::Script
        | ToolKind::Secrets
        | ToolKind::Snowflake
        | ToolKind::Subscription
        | ToolKind::Transfer
        | ToolKind::Approval
        | ToolKind::Wait
        | ToolKind::Wasm => plain(result),
    }
}

/// Converts an error that an existing worker reports as text, in place of a result.
pub(super) fn normalized_error(tool: ToolKind, text: &str) -> ToolError {
    const KINDS: [(&str, ErrorKind); 12] = [
        ("Tool not found:", ErrorKind::Config),
        ("Configuration error:", ErrorKind::Config),
        ("Credential alias", ErrorKind::Config),
        ("Unsupported credential", ErrorKind::Config),
        ("Template error:", ErrorKind::Template),
        ("HTTP error:", ErrorKind::Connection),
        ("Authentication error:", ErrorKind::Auth),
        ("JSON error:", ErrorKind::Parse),
        ("I/O error:", ErrorKind::StorageAccess),
        ("Execution timed out", ErrorKind::Timeout),
        ("Process error:", ErrorKind::Exception),
        ("Script error:", ErrorKind::Exception),
    ];
    if let Some(message) = text.strip_prefix("Database error:") {
        return database_error(tool, message.trim());
    }
    if let Some(code) = sqlstate(text).filter(|_| tool == ToolKind::Postgres) {
        return ToolError::new(ErrorKind::of_sqlstate(code), text).with_code(code);
    }
    let known = KINDS.iter().find(|(prefix, _)| text.starts_with(prefix));
    let kind = match known.map(|(_, kind)| *kind) {
        Some(ErrorKind::Connection) if text.contains("timed out") => ErrorKind::Timeout,
        Some(kind) => kind,
        None => ErrorKind::Exception,
    };
    ToolError::new(kind, text)
}

/// An error of PostgreSQL names its SQLSTATE; without one the connection has failed.
fn database_error(tool: ToolKind, message: &str) -> ToolError {
    if tool != ToolKind::Postgres {
        let said = message.strip_prefix("Query failed:").unwrap_or(message).trim();
        let sort = said.split_once(" Error:").map_or("", |(sort, _)| sort.trim());
        return ToolError::new(ErrorKind::of_duckdb(sort, said), said).with_code(sort);
    }
    match sqlstate(message) {
        Some(code) => ToolError::new(ErrorKind::of_sqlstate(code), message).with_code(code),
        None => ToolError::new(ErrorKind::DbConnection, message),
    }
}

/// Returns the code in `… (SQLSTATE 42P01)`.
fn sqlstate(text: &str) -> Option<&str> {
    let (_, rest) = text.rsplit_once("SQLSTATE ")?;
    let code = rest.get(..5)?;
    code.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(code)
}

impl WorkerResult {
    fn message(&self) -> String {
        self.error.clone().unwrap_or_else(|| "the tool failed".to_owned())
    }

    /// Returns the error of a result that is one, with the kind of its status.
    fn own_error(&self, tool: ToolKind) -> Option<ToolError> {
        match self.status {
            ToolStatus::Success => None,
            ToolStatus::Timeout => Some(ToolError::new(ErrorKind::Timeout, self.message())),
            ToolStatus::Error => Some(normalized_error(tool, &self.message())),
        }
    }
}

fn ended(error: Option<ToolError>, output: Value) -> Outcome {
    match error {
        None => Outcome::completed(output),
        Some(error) => {
            let output = Some(output).filter(|it| !it.is_null()).map(Arc::new);
            Outcome::Failed { error, output }
        }
    }
}

fn plain(result: WorkerResult) -> Outcome {
    ended(result.own_error(ToolKind::Noop), result.data)
}

/// `{status_code, headers, body}`, to which `data` is added.
fn http(result: WorkerResult) -> Outcome {
    let status = result.data.get("status_code").and_then(Value::as_u64);
    let Some(status) = status.and_then(|status| u16::try_from(status).ok()) else {
        return ended(result.own_error(ToolKind::Http), result.data);
    };
    let part = |name: &str| result.data.get(name).cloned();
    let body = part("body").or_else(|| part("data")).unwrap_or(Value::Null);
    let headers = part("headers").unwrap_or_else(|| json!({}));
    let error = match ErrorKind::of_http_status(status) {
        None => result.own_error(ToolKind::Http),
        Some(kind) => {
            let mut error = ToolError::new(kind, format!("HTTP {status} from the service"));
            (error.status, error.code) = (Some(status), Some(status.to_string()));
            error.details = headers
                .get("retry-after")
                .map(|retry_after| Box::new(json!({ "retry_after": retry_after })));
            Some(error)
        }
    };
    let output = json!({ "status_code": status, "headers": headers, "body": body, "data": body });
    ended(error, output)
}

/// `{exit_code, stdout, stderr}`.
fn shell(result: WorkerResult) -> Outcome {
    let code = result.data.get("exit_code").and_then(Value::as_i64).or(result.exit_code);
    let error = result.own_error(ToolKind::Shell).map(|error| match (error.kind, code) {
        (ErrorKind::Exception, Some(code)) => {
            let reason = last_line(&result.stderr).map(|line| format!(": {line}"));
            let message = format!("{}{}", error.message, reason.unwrap_or_default());
            ToolError::new(ErrorKind::Exception, message).with_code(code.to_string())
        }
        _ => error,
    });
    ended(error, result.data)
}

fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}

/// The value of the code. An exception is read from the last line of its traceback, and has no
/// output.
fn python(result: WorkerResult) -> Outcome {
    let Some(error) = result.own_error(ToolKind::Python) else {
        return Outcome::completed(result.data);
    };
    let raised = last_line(&result.stderr).filter(|_| error.kind == ErrorKind::Exception);
    let Some((code, message)) = raised.and_then(raised_by) else { return Outcome::failed(error) };
    let message = if message.is_empty() { code.to_owned() } else { format!("{code}: {message}") };
    let details = json!({ "traceback": result.stderr.trim_end() });
    Outcome::failed(
        ToolError::new(ErrorKind::Exception, message).with_code(code).with_details(details),
    )
}

/// Splits `package.ValueError: boom` into the name of the exception and its message.
fn raised_by(line: &str) -> Option<(&str, &str)> {
    let (name, message) = line.split_once(':').unwrap_or((line, ""));
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.')
    };
    let name = is_name(name).then_some(name)?;
    Some((name.rsplit('.').next().unwrap_or(name), message.trim()))
}

/// The result of the last statement at the top and under the number of each that is reported.
fn sql(result: WorkerResult) -> Outcome {
    let error = result.own_error(ToolKind::Postgres);
    let Value::Object(data) = result.data else { return ended(error, result.data) };
    if error.is_some() {
        return ended(error, Value::Null);
    }
    let mut statements: Vec<(u32, Value)> = data
        .iter()
        .filter_map(|(key, value)| {
            let number = ["command_", "statement_"].iter().find_map(|it| key.strip_prefix(it))?;
            Some((number.parse().ok()?, statement(value)))
        })
        .collect();
    if statements.is_empty() {
        statements.push((0, statement(&Value::Object(data))));
    }
    statements.sort_by_key(|(number, _)| *number);
    let mut output = match statements.last() {
        Some((_, Value::Object(last))) => last.clone(),
        Some(_) | None => Map::new(),
    };
    for (number, view) in statements {
        output.insert(format!("command_{number}"), view);
    }
    Outcome::completed(Value::Object(output))
}

/// Returns the result of one statement: its rows, or the number of rows it changed.
fn statement(reported: &Value) -> Value {
    let affected = reported.get("affected_rows").and_then(Value::as_u64);
    if let (Some(count), None) = (affected, reported.get("rows")) {
        return json!({
            "status": "success", "columns": [], "rows": [], "row_count": count,
            "affected_rows": count,
        });
    }
    let rows = reported.get("rows").or_else(|| reported.get("result")).cloned();
    let rows = rows.unwrap_or_else(|| json!([]));
    let count = rows.as_array().map_or(0, Vec::len);
    json!({
        "status": "success",
        "columns": reported.get("columns").cloned().unwrap_or_else(|| json!([])),
        "row_count": reported.get("row_count").cloned().unwrap_or_else(|| json!(count)),
        "rows": rows,
    })
}

/// A tool without a message: existing workers return its kind in place of the message.
fn noop(mut result: WorkerResult) -> Outcome {
    if result.data == json!({ "status": "ok", "message": "noop" }) {
        result.data["message"] = Value::Null;
    }
    plain(result)
}

/// A failed call of an MCP server, which existing workers report as a success.
fn mcp(result: WorkerResult) -> Outcome {
    let told = result.data.get("status").and_then(Value::as_str);
    let is_error = result.data.pointer("/result/isError").and_then(Value::as_bool);
    if result.status != ToolStatus::Success || (told != Some("error") && is_error != Some(true)) {
        return plain(result);
    }
    let message = ["error", "text"].iter().find_map(|key| result.data.get(*key)?.as_str());
    let message = message.unwrap_or("the MCP server reports an error").to_owned();
    ended(Some(ToolError::new(ErrorKind::Exception, message)), result.data)
}

#[cfg(test)]
mod tests;
