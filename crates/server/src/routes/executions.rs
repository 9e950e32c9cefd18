//! Routes for executions: list, show, end, fork and verify.

mod end;
mod events;
mod fork;
mod list;
mod look;
mod tree;
mod verify;

use noetl_api::wire::{ExecutionItem, ExecutionState, Progress};
use noetl_app::KnownExecution;
use noetl_model::{ExecutionStatus, Timestamp};
use utoipa_axum::router::OpenApiRouter;

use crate::state::AppState;

pub(super) use list::{path_of, status_of};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(list::routes())
        .merge(look::routes())
        .merge(events::routes())
        .merge(tree::routes())
        .merge(end::routes())
        .merge(verify::routes())
        .merge(fork::routes())
}

fn item_of(KnownExecution { origin, summary }: KnownExecution) -> ExecutionItem {
    ExecutionItem {
        execution_id: summary.execution.0,
        origin,
        catalog_id: summary.playbook.catalog_id.0,
        path: summary.playbook.path,
        version: summary.playbook.version,
        status: summary.status.to_string(),
        started_at: summary.started_at.to_string(),
        completed_at: summary.ended_at.map(|at| at.to_string()),
        parent_execution_id: summary.parent.map(|parent| parent.execution().0),
        forked_from: summary.fork.map(|fork| fork.execution.to_string()),
        forked_at: summary.fork.map(|fork| fork.seq.0),
        event_count: summary.seq.0,
        error: summary.error.map(|error| error.message),
    }
}

fn state_of(
    KnownExecution { origin, summary }: KnownExecution,
    now: Timestamp,
    hint: Option<String>,
) -> ExecutionState {
    ExecutionState {
        execution_id: summary.execution.0,
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
        is_cancelled: summary.status == ExecutionStatus::Cancelled,
        completed: summary.status.is_terminal(),
        failed: summary.status == ExecutionStatus::Failed,
        error: summary.error.map(|error| error.message),
        start_time: summary.started_at.to_string(),
        end_time: summary.ended_at.map(|at| at.to_string()),
        duration_seconds: summary.ended_at.unwrap_or(now).since(summary.started_at).as_secs_f64(),
        hint,
    }
}
