//! Shows one execution: as a document for programs, as text for people.

use noetl_model::{ExecutionStatus, Logs, StepName, StepStatus, Timestamp, ToolError, ToolKind};
use serde::Serialize;
use serde_json::Value;

use super::pretty;
use super::table::{headed_table, line, table};
use super::time::{day, seconds, took};
use crate::backend::{BackendReader, HistoryLocation};
use crate::show::failure::Failure;
use crate::show::overview::{CommandFailure, Ending, Overview, StepView};
use crate::show::terminal::{BAD, CAREFUL, FAINT, GOOD, STRONG, paint};

/// The most lines shown of a tool's output.
const LOG_LINES_MAX: usize = 20;
/// The most characters of an error in a table.
const ERROR_CHARS_MAX: usize = 80;

/// The document about one execution.
#[derive(Serialize)]
pub(crate) struct ExecutionDocument {
    /// Text, since not every reader of JSON keeps 64 bits of a number.
    execution_id: String,
    status: ExecutionStatus,
    path: String,
    version: u32,
    started_at: String,
    ended_at: Option<String>,
    duration_seconds: Option<f64>,
    output: Value,
    error: Option<ErrorDocument>,
    /// The reason of the cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The origin of a fork, and the last event shared with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_at: Option<u64>,
    steps: Vec<StepDocument>,
    /// The reason why the execution does not proceed, as far as its server knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The database with the history; `None` if ephemeral.
    db: Option<String>,
    /// The server that has the execution, if one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
}

#[derive(Serialize)]
struct StepDocument {
    step: StepName,
    status: StepStatus,
    runs: u32,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<ItemsDocument>,
    error: Option<ToolError>,
}

#[derive(Serialize)]
struct ItemsDocument {
    total: Option<u64>,
    completed: u64,
    failed: u64,
}

#[derive(Serialize)]
struct ErrorDocument {
    #[serde(flatten)]
    error: ToolError,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<StepName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<ToolKind>,
    #[serde(flatten)]
    logs: Logs,
}

/// Builds the document of an execution.
pub(crate) async fn document_of(
    overview: &Overview,
    reader: &dyn BackendReader,
) -> Result<ExecutionDocument, Failure> {
    let output = output_of(overview, reader).await?;
    let reason = match &overview.ending {
        Ending::Cancelled { reason } => Some(reason.clone()),
        Ending::None | Ending::Completed { .. } | Ending::Failed { .. } => None,
    };
    let (db, server) = match reader.location() {
        HistoryLocation::Memory => (None, None),
        HistoryLocation::File(path) => (Some(path.display().to_string()), None),
        HistoryLocation::Server(url) => (None, Some(url.to_string())),
    };
    Ok(ExecutionDocument {
        execution_id: overview.execution.to_string(),
        status: overview.status(),
        path: overview.playbook.path.clone(),
        version: overview.playbook.version,
        started_at: overview.started_at.to_string(),
        ended_at: overview.ended_at.as_ref().map(Timestamp::to_string),
        duration_seconds: overview.took().map(seconds),
        output,
        error: error_of(overview),
        reason,
        forked_from: overview.fork.map(|fork| fork.execution.to_string()),
        forked_at: overview.fork.map(|fork| fork.seq.0),
        steps: overview.steps.iter().map(step_document).collect(),
        hint: reader.hint(overview.execution, overview.status()).await,
        db,
        server,
    })
}

/// Returns the output of an execution; null unless it has completed.
pub(crate) async fn output_of(
    overview: &Overview,
    reader: &dyn BackendReader,
) -> Result<Value, Failure> {
    match &overview.ending {
        Ending::Completed { output } => reader.value(output).await,
        Ending::None | Ending::Failed { .. } | Ending::Cancelled { .. } => Ok(Value::Null),
    }
}

fn error_of(overview: &Overview) -> Option<ErrorDocument> {
    let error = match &overview.ending {
        Ending::Failed { error, .. } => error.clone(),
        Ending::None | Ending::Completed { .. } | Ending::Cancelled { .. } => return None,
    };
    let first = overview.unhandled().next();
    let failure = first.and_then(|view| view.failure.as_ref());
    Some(ErrorDocument {
        error,
        step: first.map(|view| view.step.clone()),
        item: failure.and_then(|failure| failure.item),
        tool: failure.map(|failure| failure.tool),
        logs: failure.map(|failure| failure.logs.clone()).unwrap_or_default(),
    })
}

fn step_document(view: &StepView) -> StepDocument {
    StepDocument {
        step: view.step.clone(),
        status: view.status,
        runs: view.runs,
        duration_seconds: seconds(view.took),
        items: view.items.map(|items| ItemsDocument {
            total: items.total,
            completed: items.completed,
            failed: items.failed,
        }),
        error: view.error.clone(),
    }
}

/// Formats a result for people: text without quotes, `None` for null.
pub(crate) fn result_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Some(pretty(value))
        }
    }
}

/// Returns a status in its colour.
pub(crate) fn status(status: ExecutionStatus) -> String {
    let style = match status {
        ExecutionStatus::Running => STRONG,
        ExecutionStatus::Completed => GOOD,
        ExecutionStatus::Failed => BAD,
        ExecutionStatus::Cancelled => CAREFUL,
    };
    paint(style, status.as_str().to_lowercase())
}

/// Formats an execution in full: the output of `executions get`.
pub(crate) fn text(overview: &Overview, output: &Value) -> String {
    let mut rows = vec![
        vec!["execution".to_owned(), overview.execution.to_string()],
        vec![
            "playbook".to_owned(),
            format!("{}@{}", overview.playbook.path, overview.playbook.version),
        ],
        vec!["status".to_owned(), status(overview.status())],
        vec!["started".to_owned(), day(overview.started_at)],
    ];
    if let (Some(ended_at), Some(duration)) = (overview.ended_at, overview.took()) {
        rows.push(vec!["ended".to_owned(), format!("{} after {}", day(ended_at), took(duration))]);
    }
    if let Some(fork) = overview.fork {
        let from = format!("{} at event {}", fork.execution, fork.seq);
        rows.push(vec!["forked from".to_owned(), from]);
    }
    if let Ending::Cancelled { reason } = &overview.ending {
        rows.push(vec!["reason".to_owned(), reason.clone()]);
    }
    let mut text = table(&rows);
    if !overview.steps.is_empty() {
        text.push('\n');
        text.push_str(&steps(&overview.steps));
    }
    if let Some(result) = result_text(output) {
        text.push_str(&format!("\n{}\n{}\n", paint(FAINT, "output"), result));
    }
    if let Some(story) = failure_story(overview) {
        text.push_str(&format!("\n{story}"));
    }
    text
}

fn steps(views: &[StepView]) -> String {
    let rows = views.iter().map(|view| {
        let items = view.items.map(|items| match items.total {
            Some(total) => format!("{}/{total}", items.ended()),
            None => items.ended().to_string(),
        });
        let error = view.error.as_ref().map(|error| line(&error.message, ERROR_CHARS_MAX));
        vec![
            view.step.to_string(),
            view.status.as_str().to_lowercase(),
            view.runs.to_string(),
            took(view.took),
            items.unwrap_or_default(),
            error.unwrap_or_default(),
        ]
    });
    headed_table(&["STEP", "STATUS", "RUNS", "TOOK", "ITEMS", "ERROR"], rows)
}

/// Explains the failure of an execution: step, item, error and output. `None` if it has not failed.
pub(crate) fn failure_story(overview: &Overview) -> Option<String> {
    let Ending::Failed { error, .. } = &overview.ending else { return None };
    let stories: Vec<String> = overview.unhandled().map(step_story).collect();
    if stories.is_empty() {
        return Some(headed(&paint(BAD, "failed"), error));
    }
    Some(stories.join("\n"))
}

fn step_story(view: &StepView) -> String {
    let step = paint(BAD, format!("step {} failed", view.step));
    let failure = view.failure.as_ref();
    let place = failure.map(|failure| match failure.item {
        Some(item) => format!(" at item {item} ({})", failure.tool),
        None => format!(" ({})", failure.tool),
    });
    let head = format!("{step}{}", place.unwrap_or_default());
    match (failure, &view.error) {
        (Some(failure), _) => headed(&head, &failure.error) + evidence(failure).as_str(),
        (None, Some(error)) => headed(&head, error),
        (None, None) => head + "\n",
    }
}

fn headed(head: &str, error: &ToolError) -> String {
    format!("{head}: {}\n{}", error.kind, indented(&error.message))
}

/// Returns details and logs that help to find the cause, without repetitions.
fn evidence(failure: &CommandFailure) -> String {
    let details = match &failure.error.details {
        None => String::new(),
        Some(details) => match details.get("traceback").and_then(Value::as_str) {
            Some(traceback) => traceback.to_owned(),
            None => pretty(details),
        },
    };
    let mut text = String::new();
    if !details.trim().is_empty() {
        text.push_str(&format!("\n{}", indented(details.trim_end())));
    }
    for (name, stream) in [("stderr", &failure.logs.stderr), ("stdout", &failure.logs.stdout)] {
        let printed = stream.trim_end();
        if printed.trim().is_empty() || printed.trim() == details.trim() {
            continue;
        }
        text.push_str(&format!("\n  {}\n{}", paint(FAINT, name), indented(&tail(printed))));
    }
    text
}

/// Returns the last lines of a text.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match lines.len().checked_sub(LOG_LINES_MAX) {
        None | Some(0) => text.to_owned(),
        Some(left_out) => {
            format!("… {left_out} lines left out\n{}", lines[left_out..].join("\n"))
        }
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_end_is_shown() {
        let lines = |count: usize| (1..=count).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(tail(&lines(LOG_LINES_MAX).join("\n")).lines().count(), LOG_LINES_MAX);
        let cut = tail(&lines(LOG_LINES_MAX + 3).join("\n"));
        assert!(cut.starts_with("… 3 lines left out\n4\n5\n"), "{cut}");
        assert!(cut.ends_with("\n22\n23"), "{cut}");
    }

    #[test]
    fn a_text_is_shown_as_it_is_and_nothing_as_nothing() {
        assert_eq!(result_text(&Value::Null), None);
        assert_eq!(result_text(&"a\nb".into()).as_deref(), Some("a\nb"));
        assert_eq!(result_text(&[1].as_slice().into()).as_deref(), Some("[\n  1\n]"));
    }
}
