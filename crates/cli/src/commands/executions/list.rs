//! `noetl executions list`: lists executions, newest first.

use noetl_app::{ExecutionFilter, KnownExecution, PathFilter};
use noetl_model::{Actor, ExecutionStatus, Labels, LogOrigin, Timestamp};
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
use crate::show::terminal::{FAINT, Terminal, paint};

/// The most characters of an error in the table.
const ERROR_CHARS_MAX: usize = 60;

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
    };
    let which = if args.all || args.parent.is_some() { Which::All } else { Which::Requested };
    let started = Started { since: args.since, until: args.until };
    let limit = args.limit.into();
    let listed = reader.list(which, &filter, started, limit).await?;
    match args.output.document() {
        Some(format) => {
            let entries: Vec<ListedExecution> = listed.iter().map(entry).collect();
            terminal.data(&document(format, &entries))?;
        }
        None if listed.is_empty() => terminal.say("no executions"),
        None => terminal.data(&text(&listed))?,
    }
    Ok(Exit::Completed)
}

fn entry(known: &KnownExecution) -> ListedExecution {
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
    }
}

fn text(listed: &[KnownExecution]) -> String {
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
        vec![
            summary.execution.to_string(),
            status(summary.status),
            day(summary.started_at),
            duration.unwrap_or_default(),
            format!("{}@{}", summary.playbook.path, summary.playbook.version),
            now.join("  "),
        ]
    });
    headed_table(&["ID", "STATUS", "STARTED", "TOOK", "PLAYBOOK", "NOW"], rows)
}
