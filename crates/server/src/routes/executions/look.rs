//! Showing one execution.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::{CancellationCheck, ExecutionDetail, ExecutionState};
use noetl_api::{AnyId, PublicEvent};
use noetl_app::ExecutionOverview;
use noetl_model::ExecutionId;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{item_of, state_of};
use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(show_execution))
        .routes(routes!(execution_status))
        .routes(routes!(cancellation_check))
}

/// Selects the events shown with an execution.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DetailQuery {
    /// Page number from 1, newest events first; the latest events, oldest first, if left out.
    page: Option<u64>,
    page_size: Option<u64>,
    /// Of the page, show events after this one.
    #[param(value_type = Option<String>)]
    since_event_id: Option<AnyId>,
    /// Of the page, show events of this type.
    event_type: Option<String>,
}

impl DetailQuery {
    /// Filters the events of a page.
    fn shown(&self, mut events: Vec<PublicEvent>) -> Vec<PublicEvent> {
        if let Some(AnyId(since)) = self.since_event_id {
            let seq = events.iter().find(|event| event.event_id.0 == since).map(|it| it.seq);
            events.retain(|event| match seq {
                Some(seq) => event.seq > seq,
                // The event lies before the page.
                None => event.event_id.0 > since,
            });
        }
        if let Some(wanted) = &self.event_type {
            events.retain(|event| event.event_type == *wanted);
        }
        events
    }
}

/// Shows an execution with its latest events, or a page of them.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}", tag = "executions",
    params(("execution_id" = String, Path), DetailQuery),
    responses((status = 200, body = ExecutionDetail))
)]
async fn show_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<DetailQuery>,
) -> Result<Json<ExecutionDetail>, ApiError> {
    let execution = ExecutionId::from(id);
    let found = state.app().execution_overview(execution, query.page, query.page_size).await?;
    let ExecutionOverview { known, workload, result, events, pagination, hint } = found;
    Ok(Json(ExecutionDetail {
        events_endpoint: format!("/api/executions/{execution}/events"),
        execution: item_of(known, hint.as_ref(), state.now()),
        workload,
        result,
        events: query.shown(events),
        pagination,
    }))
}

/// Shows the state of an execution.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/status", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = ExecutionState))
)]
async fn execution_status(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<ExecutionState>, ApiError> {
    let progress = state.app().execution_progress(id.into()).await?;
    Ok(Json(state_of(progress, state.now())))
}

/// Shows if an execution was cancelled; an unknown execution was not.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/cancellation-check", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = CancellationCheck))
)]
async fn cancellation_check(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<CancellationCheck>, ApiError> {
    let is_cancelled = state.app().is_cancelled(id.into()).await?;
    Ok(Json(CancellationCheck { execution_id: id, is_cancelled }))
}
