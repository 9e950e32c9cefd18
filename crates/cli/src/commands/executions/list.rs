//! `noetl executions list`: lists executions, newest first.

use std::collections::BTreeMap;

use noetl_app::{ExecutionFilter, KnownExecution, PathFilter};
use noetl_model::{Actor, ExecutionId, ExecutionStatus, Labels, LogOrigin, Timestamp};
use serde::Serialize;

use crate::args::ListArgs;
use crate::backend;
use crate::backend::{Started, Which};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::execution::status;
use crate::show::output::table::{headed_table, line};
use crate::show::output::time::{day, seconds, took};
use crate::show::terminal::{CAREFUL, FAINT, Terminal, paint};

/// The most characters of an error in the table.
const ERROR_CHARS_MAX: usize = 60;
/// The most characters of a reason for waiting in the table.
const HINT_CHARS_MAX: usize = 100;

/// One execution of the list, for programs.
#[derive(Serialize)]
struct ListedExecution {
    execution_id: String,
    /// The writer of the log, unless it is the engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<LogOrigin>,
    status: ExecutionStatus,
    path: String,
    version: u32,
    catalog_id: String,
    started_at: String,
    ended_at: Option<String>,
    duration_seconds: Option<f64>,
    /// The parent execution, which waits for this one.
    parent_execution_id: Option<String>,
    /// The origin of a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<String>,
    current_step: Option<String>,
    error: Option<String>,
    #[serde(skip_serializing_if = "Labels::is_empty")]
    labels: Labels,
    /// The person or program that requested the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<Actor>,
    /// The reason why a running execution does not advance.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) async fn list(
    args: &ListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let reader = backend::open_reader(&args.client, config).await?;
    let filter = ExecutionFilter {
        status: args.status,
        path: args.path.clone().map(PathFilter::Part),
        catalog_id: args.catalog_id,
        parent: args.parent,
        labels: args.labels.clone(),
        actor: args.actor.clone(),
        text: args.text.clone(),
    };
    let which = if args.all || args.parent.is_some() { Which::All } else { Which::Requested };
    let started = Started { since: args.since, until: args.until };
    let limit = args.limit.into();
    let listed = reader.list(which, &filter, started, limit).await?;
    let hints = reader.hints(&listed).await;
    match args.output.document() {
        Some(format) => {
            let entry = |known| entry(known, &hints);
            let entries: Vec<ListedExecution> = listed.iter().map(entry).collect();
            terminal.data(&document(format, &entries))?;
        }
        None if listed.is_empty() => terminal.say("no executions"),
        None => terminal.data(&text(&listed, &hints))?,
    }
    Ok(Exit::Completed)
}

fn entry(known: &KnownExecution, hints: &BTreeMap<ExecutionId, String>) -> ListedExecution {
    let summary = &known.summary;
    let duration = summary.ended_at.map(|ended_at| ended_at.since(summary.started_at));
    ListedExecution {
        execution_id: summary.execution.to_string(),
        origin: Some(known.origin).filter(|origin| *origin != LogOrigin::Native),
        status: summary.status,
        path: summary.playbook.path.clone(),
        version: summary.playbook.version,
        catalog_id: summary.playbook.catalog_id.to_string(),
        started_at: summary.started_at.to_string(),
        ended_at: summary.ended_at.as_ref().map(Timestamp::to_string),
        duration_seconds: duration.map(seconds),
        parent_execution_id: summary.parent.map(|parent| parent.execution().to_string()),
        forked_from: summary.fork.map(|fork| fork.execution.to_string()),
        current_step: summary.current_step.as_ref().map(ToString::to_string),
        error: summary.error.as_ref().map(|error| error.message.clone()),
        labels: summary.labels.clone(),
        actor: summary.actor.clone(),
        hint: hints.get(&summary.execution).cloned(),
    }
}

/// Draws the list as a table, with a column for the reasons of waiting if an execution waits.
fn text(listed: &[KnownExecution], hints: &BTreeMap<ExecutionId, String>) -> String {
    let rows = listed.iter().map(|KnownExecution { origin, summary }| {
        let duration = summary.ended_at.map(|ended_at| took(ended_at.since(summary.started_at)));
        let now = match (summary.status, &summary.error, &summary.current_step) {
            (ExecutionStatus::Running, _, Some(step)) => Some(step.to_string()),
            (_, Some(error), _) => Some(line(&error.message, ERROR_CHARS_MAX)),
            (_, None, _) => None,
        };
        let lineage = summary
            .fork
            .map(|fork| paint(FAINT, format!("fork of {} at event {}", fork.execution, fork.seq)));
        let origin = match origin {
            LogOrigin::Native => None,
            LogOrigin::Imported | LogOrigin::Subscription => Some(paint(FAINT, origin)),
        };
        let labels = summary.labels.iter().map(|label| paint(FAINT, label));
        let now: Vec<String> = now.into_iter().chain(lineage).chain(origin).chain(labels).collect();
        let hint = hints.get(&summary.execution).map(|hint| line(hint, HINT_CHARS_MAX));
        let mut row = vec![
            summary.execution.to_string(),
            status(summary.status),
            day(summary.started_at),
            duration.unwrap_or_default(),
            format!("{}@{}", summary.playbook.path, summary.playbook.version),
            now.join("  "),
        ];
        if !hints.is_empty() {
            row.push(hint.map(|hint| paint(CAREFUL, hint)).unwrap_or_default());
        }
        row
    });
    let columns = ["ID", "STATUS", "STARTED", "TOOK", "PLAYBOOK", "NOW", "WAITS FOR"];
    let shown = if hints.is_empty() { columns.len() - 1 } else { columns.len() };
    headed_table(&columns[..shown], rows)
}
