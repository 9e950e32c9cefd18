//! Routes for executions: list, show, end, fork and verify.

mod bulk;
mod change;
mod comparison;
mod end;
mod events;
mod fork;
mod histogram;
mod list;
mod logs;
mod look;
mod position;
mod retention;
mod signal;
mod tree;
mod verify;
mod window;

use noetl_api::wire::{ExecutionItem, ExecutionState, Progress};
use noetl_app::{ExecutionProgress, KnownExecution, WaitHint};
use noetl_compat::duration_text;
use noetl_model::{ExecutionStatus, StepCounts, StepName, Timestamp};
use utoipa_axum::router::OpenApiRouter;

use crate::state::AppState;

pub(super) use list::{actor_of, path_of, status_of, text_of};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(list::routes())
        .merge(bulk::routes())
        .merge(histogram::routes())
        .merge(look::routes())
        .merge(position::routes())
        .merge(change::routes())
        .merge(comparison::routes())
        .merge(window::routes())
        .merge(events::routes())
        .merge(logs::routes())
        .merge(tree::routes())
        .merge(end::routes())
        .merge(retention::routes())
        .merge(signal::routes())
        .merge(verify::routes())
        .merge(fork::routes())
}

fn item_of(
    KnownExecution { origin, summary }: KnownExecution,
    hint: Option<&WaitHint>,
    now: Timestamp,
) -> ExecutionItem {
    let duration = summary.ended_at.unwrap_or(now).since(summary.started_at);
    let ended_at = summary.ended_at.map(|at| at.to_string());
    ExecutionItem {
        execution_id: summary.execution.into(),
        origin,
        catalog_id: summary.playbook.catalog_id.into(),
        progress: percent_of(summary.status, summary.steps),
        path: summary.playbook.path,
        version: summary.playbook.version,
        status: summary.status.to_string(),
        started_at: summary.started_at.to_string(),
        completed_at: ended_at.clone(),
        start_time: summary.started_at.to_string(),
        end_time: ended_at,
        duration_seconds: duration.as_secs_f64(),
        duration_human: duration_text(duration),
        parent_execution_id: summary.parent.map(|parent| parent.execution().into()),
        forked_from: summary.fork.map(|fork| fork.execution.to_string()),
        forked_at: summary.fork.map(|fork| fork.seq.0),
        event_count: summary.seq.0,
        error: summary.error.map(|error| error.message),
        labels: summary.labels,
        actor: summary.actor,
        hint: hint.map(ToString::to_string),
    }
}

/// Returns the share of the entered steps that have completed, in percent.
fn percent_of(status: ExecutionStatus, steps: StepCounts) -> u32 {
    match status {
        ExecutionStatus::Completed => 100,
        ExecutionStatus::Running | ExecutionStatus::Failed | ExecutionStatus::Cancelled => {
            (steps.completed * 100).checked_div(steps.total).unwrap_or(0)
        }
    }
}

fn state_of(progress: ExecutionProgress, now: Timestamp) -> ExecutionState {
    let ExecutionProgress { known, completed_steps, late_at, cancelled_because, hint } = progress;
    let KnownExecution { origin, summary } = known;
    let duration = summary.ended_at.unwrap_or(now).since(summary.started_at);
    let is_cancelled = summary.status == ExecutionStatus::Cancelled;
    // Existing clients read `failed` and `error` only, and would show a cancellation as a success.
    let cancelled = || format!("cancelled: {}", cancelled_because.unwrap_or_default());
    let error = summary.error.map(|error| error.message);
    ExecutionState {
        execution_id: summary.execution.into(),
        origin,
        path: summary.playbook.path,
        status: summary.status.to_string(),
        current_step: summary.current_step.map(|step| step.to_string()),
        progress: Progress {
            total_steps: summary.steps.total,
            completed_steps: summary.steps.completed,
            running_steps: summary.steps.running,
            failed_steps: summary.steps.failed,
            total_items: summary.items.total,
            completed_items: summary.items.completed,
            failed_items: summary.items.failed,
        },
        completed_steps: completed_steps.iter().map(StepName::to_string).collect(),
        is_cancelled,
        completed: summary.status.is_terminal(),
        failed: summary.status == ExecutionStatus::Failed || is_cancelled,
        error: if is_cancelled { error.or_else(|| Some(cancelled())) } else { error },
        start_time: summary.started_at.to_string(),
        end_time: summary.ended_at.map(|at| at.to_string()),
        duration_seconds: duration.as_secs_f64(),
        duration_human: duration_text(duration),
        late_at: late_at.map(|at| at.to_string()),
        hint: hint.map(|wait| wait.to_string()),
    }
}
