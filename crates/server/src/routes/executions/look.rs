//! Looking at one execution.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::value_or_reference;
use noetl_api::wire::{CancellationCheck, ExecutionDetail, ExecutionState};
use noetl_model::{Event, ExecutionId, ExecutionStatus, Seq};
use noetl_store::READ_EVENTS_MAX;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{item_of, known, state_of};
use crate::error::ApiError;
use crate::extract::InPath;
use crate::state::AppState;
use crate::tell::events_after;

/// How many events come with an execution.
const DETAIL_EVENTS_MAX: u64 = 2000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(show_execution))
        .routes(routes!(execution_status))
        .routes(routes!(cancellation_check))
}

/// Shows an execution with its latest events.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = ExecutionDetail))
)]
async fn show_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<ExecutionDetail>, ApiError> {
    let execution = ExecutionId::from(id);
    let summary = known(&state, execution).await?;
    let first = state.control().events(execution, Seq::ZERO, 1).await?;
    let workload = match first.first().map(|recorded| &recorded.event) {
        Some(Event::ExecutionStarted { workload, .. }) => value_or_reference(workload),
        Some(_) | None => Value::Null,
    };
    let after = Seq(summary.seq.0.saturating_sub(DETAIL_EVENTS_MAX));
    let limit = usize::try_from(summary.seq.0 - after.0).unwrap_or(READ_EVENTS_MAX);
    let events = events_after(&state, execution, after, limit).await?;
    Ok(Json(ExecutionDetail {
        events_endpoint: format!("/api/executions/{execution}/events"),
        execution: item_of(summary),
        workload,
        events,
    }))
}

/// Says how an execution stands.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/status", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = ExecutionState))
)]
async fn execution_status(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<ExecutionState>, ApiError> {
    let summary = known(&state, id.into()).await?;
    Ok(Json(state_of(summary, state.now())))
}

/// Says whether an execution was cancelled; one that is not known was not.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/cancellation-check", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = CancellationCheck))
)]
async fn cancellation_check(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<CancellationCheck>, ApiError> {
    let summary = state.control().summary(id.into()).await?;
    let is_cancelled = summary.is_some_and(|summary| summary.status == ExecutionStatus::Cancelled);
    Ok(Json(CancellationCheck { execution_id: id.0, is_cancelled }))
}
