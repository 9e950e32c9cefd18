//! Executions and their events as stored, for clients that share the server's own types.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::wire::{LogQuery, LogReply, SummariesQuery, SummariesReply, SummaryReply};
use noetl_app::{ExecutionFilter, KnownExecution, PAGE_MAX, Page};
use noetl_model::{CatalogId, ExecutionId, LogOrigin, Seq};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::executions::{actor_of, path_of, status_of, text_of};
use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum time a request waits for an event.
const WAIT_MAX: Duration = Duration::from_secs(30);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_summaries))
        .routes(routes!(show_summary))
        .routes(routes!(read_log))
}

/// Lists summaries, newest first.
#[utoipa::path(
    get, path = "/api/native/executions", tag = "native", params(SummariesQuery),
    responses((status = 200, body = SummariesReply))
)]
async fn list_summaries(
    State(state): State<AppState>,
    InQuery(query): InQuery<SummariesQuery>,
) -> Result<Json<SummariesReply>, ApiError> {
    let labels = query.labels()?;
    let filter = ExecutionFilter {
        status: query.status.as_deref().map(status_of).transpose()?,
        path: path_of(query.path_exact, query.path),
        catalog_id: query.catalog_id.map(CatalogId),
        parent: query.parent_execution_id.map(ExecutionId),
        labels,
        actor: query.actor.as_deref().map(actor_of).transpose()?,
        text: query.text.as_deref().map(text_of).transpose()?,
    };
    let limit = query.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    let page = Page { before: query.before.map(ExecutionId), limit };
    let listed = state.app().known_page(&filter, page).await?;
    let foreign = listed.iter().filter(|known| known.origin != LogOrigin::Native);
    let origins = foreign.map(|known| (known.summary.execution, known.origin)).collect();
    let summaries = listed.into_iter().map(|known| known.summary).collect();
    Ok(Json(SummariesReply { summaries, origins }))
}

/// Shows the summary of an execution.
#[utoipa::path(
    get, path = "/api/native/executions/{execution_id}", tag = "native",
    params(("execution_id" = String, Path)), responses((status = 200, body = SummaryReply))
)]
async fn show_summary(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<SummaryReply>, ApiError> {
    let KnownExecution { origin, summary } = state.app().known_execution(id.into()).await?;
    Ok(Json(SummaryReply { summary, origin }))
}

/// Reads events as stored; waits for the next one if there is none yet.
#[utoipa::path(
    get, path = "/api/native/executions/{execution_id}/events", tag = "native",
    params(("execution_id" = String, Path), LogQuery), responses((status = 200, body = LogReply))
)]
async fn read_log(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<LogQuery>,
) -> Result<Json<LogReply>, ApiError> {
    let (execution, after) = (ExecutionId::from(id), Seq(query.after));
    // Loaded before the events: if the execution has ended by then, the events are complete.
    let summary = state.app().execution(execution).await?;
    let events = state.app().log(execution, after).await?;
    let wait = Duration::from_millis(query.wait_ms).min(WAIT_MAX);
    if !events.is_empty() || wait.is_zero() || summary.status.is_terminal() {
        return Ok(Json(LogReply { events }));
    }
    let events = tokio::select! {
        events = state.app().next_log(execution, after) => events?,
        () = tokio::time::sleep(wait) => Vec::new(),
        // The client's next request reaches another server.
        () = state.draining().cancelled() => Vec::new(),
    };
    Ok(Json(LogReply { events }))
}
