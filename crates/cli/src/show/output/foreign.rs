//! Shows an execution whose log the engine does not write: its summary, and a line per event.

use noetl_api::PublicEvent;
use noetl_app::KnownExecution;
use noetl_model::{ExecutionStatus, LogOrigin, StepCounts, StepName, Timestamp};
use serde::Serialize;

use super::execution::status;
use super::table::table;
use super::time::{clock_millis, day, seconds, took};
use crate::show::terminal::{BAD, FAINT, paint};

const NAME_WIDTH: usize = 20;

/// The document about an imported execution or a subscription.
#[derive(Serialize)]
pub(crate) struct ForeignDocument {
    execution_id: String,
    origin: LogOrigin,
    status: ExecutionStatus,
    path: String,
    version: u32,
    started_at: String,
    ended_at: Option<String>,
    duration_seconds: Option<f64>,
    parent_execution_id: Option<String>,
    current_step: Option<StepName>,
    steps: StepCounts,
    events: u64,
    error: Option<String>,
}

impl ForeignDocument {
    pub(crate) fn of(known: &KnownExecution) -> Self {
        let summary = &known.summary;
        let duration = summary.ended_at.map(|ended_at| ended_at.since(summary.started_at));
        Self {
            execution_id: summary.execution.to_string(),
            origin: known.origin,
            status: summary.status,
            path: summary.playbook.path.clone(),
            version: summary.playbook.version,
            started_at: summary.started_at.to_string(),
            ended_at: summary.ended_at.as_ref().map(Timestamp::to_string),
            duration_seconds: duration.map(seconds),
            parent_execution_id: summary.parent.map(|parent| parent.execution().to_string()),
            current_step: summary.current_step.clone(),
            steps: summary.steps,
            events: summary.seq.0,
            error: summary.error.as_ref().map(|error| error.message.clone()),
        }
    }
}

/// Formats an execution in full: the output of `executions get`.
pub(crate) fn text(KnownExecution { origin, summary }: &KnownExecution) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let origin = match origin {
        LogOrigin::Native => "run here",
        LogOrigin::Imported => "imported: the events are another program's",
        LogOrigin::Subscription => "the lifecycle of a subscription",
    };
    let mut rows = vec![
        row("execution", summary.execution.to_string()),
        row("origin", origin.to_owned()),
        row("playbook", format!("{}@{}", summary.playbook.path, summary.playbook.version)),
        row("status", status(summary.status)),
        row("started", day(summary.started_at)),
    ];
    if let Some(ended_at) = summary.ended_at {
        let duration = took(ended_at.since(summary.started_at));
        rows.push(row("ended", format!("{} after {duration}", day(ended_at))));
    }
    rows.extend(summary.parent.map(|parent| row("parent", parent.execution().to_string())));
    rows.extend(summary.current_step.as_ref().map(|step| row("step", step.to_string())));
    rows.push(row("events", summary.seq.to_string()));
    let error = summary.error.as_ref();
    rows.extend(error.map(|error| row("error", paint(BAD, &error.message))));
    table(&rows)
}

/// Formats an event: `    12  12:00:01.250  step.enter            load  ENTERED`.
pub(crate) fn foreign_line(event: &PublicEvent) -> String {
    let at = event.created_at.parse().map_or_else(|_| event.created_at.clone(), clock_millis);
    let name = format!("{:NAME_WIDTH$}", event.event_type);
    let about: Vec<&str> = [event.node_name.as_deref(), Some(event.status.as_str())]
        .into_iter()
        .flatten()
        .filter(|word| !word.is_empty())
        .collect();
    let line = format!("{:>6}  {}  {name}  {}", event.seq, paint(FAINT, at), about.join("  "));
    line.trim_end().to_owned()
}
