//! Looking at executions.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::value_or_reference;
use noetl_api::wire::{
    CancellationCheck, EventPage, ExecutionDetail, ExecutionItem, ExecutionState,
};
use noetl_model::{CatalogId, Event, ExecutionId, ExecutionStatus, Seq, Summary};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page, READ_EVENTS_MAX};
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{item_of, known, state_of};
use crate::error::ApiError;
use crate::extract::{InPath, InQuery};
use crate::state::AppState;
use crate::tell::events_after;

/// How many executions a page has if it does not say.
const LIMIT: usize = 50;
/// How many executions a page may have.
const LIMIT_MAX: usize = 100;
/// How many executions are looked at for one page; who wants to go further narrows the filter.
const LOOKED_AT_MAX: usize = 20_000;
/// How many events come with an execution.
const DETAIL_EVENTS_MAX: u64 = 2000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_executions))
        .routes(routes!(show_execution))
        .routes(routes!(list_events))
        .routes(routes!(execution_status))
        .routes(routes!(cancellation_check))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    catalog_id: Option<AnyId>,
    /// A part of the path, whatever its case.
    path: Option<String>,
    status: Option<String>,
    parent_execution_id: Option<AnyId>,
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
}

/// Lists executions, newest first.
#[utoipa::path(
    get, path = "/api/executions", tag = "executions", params(ListQuery),
    responses((status = 200, body = Vec<ExecutionItem>))
)]
async fn list_executions(
    State(state): State<AppState>,
    InQuery(query): InQuery<ListQuery>,
) -> Result<Json<Vec<ExecutionItem>>, ApiError> {
    let status = query.status.as_deref().map(status_of).transpose()?;
    let filter = ExecutionFilter {
        status,
        path: query.path,
        parent: query.parent_execution_id.map(ExecutionId::from),
    };
    if query.offset > LOOKED_AT_MAX {
        let detail = format!("`offset` is at most {LOOKED_AT_MAX}; narrow the filter instead");
        return Err(ApiError::invalid("offset-too-large", detail));
    }
    let catalog_id = query.catalog_id.map(CatalogId::from);
    let wanted = |summary: &Summary| catalog_id.is_none_or(|id| summary.playbook.catalog_id == id);
    let limit = query.limit.unwrap_or(LIMIT).min(LIMIT_MAX);
    let mut found = Vec::new();
    let (mut left_out, mut before) = (query.offset, None);
    for _page in 0..LOOKED_AT_MAX / PAGE_MAX {
        let needed = match catalog_id {
            // What is left out is only known once it is read.
            Some(_) => PAGE_MAX,
            None => PAGE_MAX.min(limit + left_out),
        };
        let page = Page { before, limit: needed };
        let summaries = state.control().list(&filter, page).await?;
        let is_last = summaries.len() < page.limit;
        before = summaries.last().map(|summary| summary.execution);
        for summary in summaries.into_iter().filter(wanted) {
            if left_out > 0 {
                left_out -= 1;
            } else if found.len() < limit {
                found.push(item_of(summary));
            }
        }
        if is_last || found.len() == limit {
            break;
        }
    }
    Ok(Json(found))
}

/// A status, whatever its case.
fn status_of(text: &str) -> Result<ExecutionStatus, ApiError> {
    text.to_uppercase().parse().map_err(|_| {
        let known: Vec<&str> = ExecutionStatus::ALL.iter().map(|status| status.as_str()).collect();
        ApiError::invalid("invalid-status", format!("`status` is one of {}", known.join(", ")))
    })
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

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// Only events after this place.
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
}

/// Lists the events of an execution in order, a page at a time.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/events", tag = "executions",
    params(("execution_id" = String, Path), EventsQuery),
    responses((status = 200, body = EventPage))
)]
async fn list_events(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<EventsQuery>,
) -> Result<Json<EventPage>, ApiError> {
    let execution = ExecutionId::from(id);
    let summary = known(&state, execution).await?;
    let limit = query.limit.unwrap_or(READ_EVENTS_MAX).clamp(1, READ_EVENTS_MAX);
    let events = events_after(&state, execution, Seq(query.after), limit).await?;
    let last = events.last().map_or(query.after, |event| event.seq);
    Ok(Json(EventPage {
        execution_id: execution.0,
        total: summary.seq.0,
        next_after: (last < summary.seq.0).then_some(last),
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
