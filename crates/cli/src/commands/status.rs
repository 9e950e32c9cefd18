//! `noetl status`: shows the status of an execution on one line.

use noetl_app::KnownExecution;
use noetl_model::{ExecutionStatus, LogOrigin, Summary};
use serde::Serialize;

use crate::args::StatusArgs;
use crate::backend;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::execution::status as painted;
use crate::show::output::time::{seconds, took};
use crate::show::terminal::{CAREFUL, Terminal, paint};

/// The status of an execution, for programs.
#[derive(Serialize)]
struct StatusDocument {
    execution_id: String,
    path: String,
    version: u32,
    status: ExecutionStatus,
    current_step: Option<String>,
    steps_completed: u32,
    steps_running: u32,
    steps_failed: u32,
    items_total: u64,
    items_completed: u64,
    items_failed: u64,
    started_at: String,
    ended_at: Option<String>,
    duration_seconds: Option<f64>,
    error: Option<String>,
    /// The reason why the execution does not proceed, as far as its server knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) async fn status(
    args: &StatusArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (KnownExecution { origin, summary }, reader) =
        backend::chosen(&args.client, args.execution, config).await?;
    let hint = match origin {
        LogOrigin::Native => reader.hint(summary.execution, summary.status).await,
        LogOrigin::Imported | LogOrigin::Subscription => None,
    };
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &standing(&summary, hint)))?,
        None => {
            let hint = hint.map(|hint| format!("\n{}", paint(CAREFUL, hint)));
            terminal.data(&(text(&summary) + hint.unwrap_or_default().as_str()))?;
        }
    }
    Ok(match summary.status {
        ExecutionStatus::Running | ExecutionStatus::Completed => Exit::Completed,
        ExecutionStatus::Failed => Exit::Failed,
        ExecutionStatus::Cancelled => Exit::Cancelled,
    })
}

fn standing(summary: &Summary, hint: Option<String>) -> StatusDocument {
    let duration = summary.ended_at.map(|ended_at| ended_at.since(summary.started_at));
    StatusDocument {
        execution_id: summary.execution.to_string(),
        path: summary.playbook.path.clone(),
        version: summary.playbook.version,
        status: summary.status,
        current_step: summary.current_step.as_ref().map(ToString::to_string),
        steps_completed: summary.steps.completed,
        steps_running: summary.steps.running,
        steps_failed: summary.steps.failed,
        items_total: summary.items.total,
        items_completed: summary.items.completed,
        items_failed: summary.items.failed,
        started_at: summary.started_at.to_string(),
        ended_at: summary.ended_at.map(|at| at.to_string()),
        duration_seconds: duration.map(seconds),
        error: summary.error.as_ref().map(|error| error.message.clone()),
        hint,
    }
}

fn text(summary: &Summary) -> String {
    let steps = summary.steps;
    let ended = summary.ended_at.map(|at| format!(" in {}", took(at.since(summary.started_at))));
    let mut text = format!(
        "{} {}{}  {}@{}  steps: {} completed, {} running, {} failed",
        summary.execution,
        painted(summary.status),
        ended.unwrap_or_default(),
        summary.playbook.path,
        summary.playbook.version,
        steps.completed,
        steps.running,
        steps.failed,
    );
    let items = summary.items;
    if items.total > 0 {
        text.push_str(&format!("  items: {} of {} completed", items.completed, items.total));
        if items.failed > 0 {
            text.push_str(&format!(", {} failed", items.failed));
        }
    }
    if let (ExecutionStatus::Running, Some(step)) = (summary.status, &summary.current_step) {
        text.push_str(&format!("  now: {step}"));
    }
    if let Some(error) = &summary.error {
        text.push_str(&format!("\n{}", error.message));
    }
    text
}
