//! Stores events of other programs, saves folds on request, and purges old data on request.
//!
//! Invariant: a batch with an invalid event stores nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_compat::{
    AdvanceCall, AdvanceReply, AdvancedExecution, BadEnvelope, MaterializeReply, ProjectCall,
    ProjectReply, ProjectedEvents, PurgeCall, PurgeReply, UnadvancedExecution, envelope_of,
    posted_envelope_of, value_of,
};
use noetl_model::{Envelope, ExecutionId, Timestamp};
use noetl_store::{Horizon, PAGE_MAX, PROJECT_MAX};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{Body, InQuery, MaybeBody};
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum size of a batch, in bytes.
const BATCH_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum number of executions per request.
const ADVANCE_MAX: usize = 1000;
/// Default number of events per page.
const PAGE_SIZE: usize = 100;
/// Maximum number of delete batches per request.
const PURGES_MAX: usize = 1000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MINUTE: Duration = Duration::from_secs(60);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    let large = OpenApiRouter::new()
        .routes(routes!(project_events))
        .routes(routes!(materialize_events))
        .layer(DefaultBodyLimit::max(BATCH_BYTES_MAX));
    OpenApiRouter::new()
        .routes(routes!(projected_events))
        .routes(routes!(advance_projections))
        .routes(routes!(purge))
        .merge(large)
}

/// Stores events of other programs, each once.
#[utoipa::path(
    post, path = "/api/internal/events/project", tag = "projector", request_body = ProjectCall,
    responses((status = 200, body = ProjectReply))
)]
async fn project_events(
    State(state): State<AppState>,
    Body(ProjectCall { events }): Body<ProjectCall>,
) -> Result<Json<ProjectReply>, ApiError> {
    if events.is_empty() {
        let detail = "`events` names no event";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "no-events", detail));
    }
    let now = state.now();
    let events = all_of(events, |event| envelope_of(event, now))?;
    let (projected, duplicates) = keep(&state, &events).await?;
    Ok(Json(ProjectReply { projected, duplicates }))
}

/// Stores events in the form posted to `/api/events`, each once; they have no other effect.
#[utoipa::path(
    post, path = "/api/internal/events/materialize", tag = "projector",
    request_body = Vec<Object>, responses((status = 200, body = MaterializeReply))
)]
async fn materialize_events(
    State(state): State<AppState>,
    Body(events): Body<Vec<Value>>,
) -> Result<Json<MaterializeReply>, ApiError> {
    let now = state.now();
    let events = all_of(events, |event| posted_envelope_of(event, now, state.next_id()))?;
    let (materialized, duplicates) = keep(&state, &events).await?;
    Ok(Json(MaterializeReply { materialized, duplicates }))
}

/// Parses all events; fails with the index of the first invalid one.
fn all_of(
    events: Vec<Value>,
    read: impl Fn(Value) -> Result<Envelope, BadEnvelope>,
) -> Result<Vec<Envelope>, ApiError> {
    if events.len() > PROJECT_MAX {
        let detail = format!("a batch has at most {PROJECT_MAX} events");
        return Err(ApiError::invalid("batch-size", detail));
    }
    let numbered = events.into_iter().enumerate();
    let read = numbered.map(|(index, event)| {
        read(event).map_err(|error| {
            let detail = format!("event {index} of the batch: {error}; nothing was kept");
            ApiError::invalid("bad-event", detail).with("index", json!(index))
        })
    });
    read.collect()
}

async fn keep(state: &AppState, events: &[Envelope]) -> Result<(u64, u64), ApiError> {
    let kept = state.records().project(events).await?;
    Ok((kept, (events.len() as u64).saturating_sub(kept)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ProjectedQuery {
    #[param(value_type = String)]
    execution_id: AnyId,
    #[serde(default)]
    after: i64,
    limit: Option<usize>,
}

/// Lists the stored events of other programs about an execution.
#[utoipa::path(
    get, path = "/api/internal/events/projected", tag = "projector", params(ProjectedQuery),
    responses((status = 200, body = ProjectedEvents))
)]
async fn projected_events(
    State(state): State<AppState>,
    InQuery(query): InQuery<ProjectedQuery>,
) -> Result<Json<ProjectedEvents>, ApiError> {
    let limit = query.limit.unwrap_or(PAGE_SIZE).clamp(1, PROJECT_MAX);
    let found = state.records().projected(query.execution_id.0, query.after, limit).await?;
    let last = found.last().map(|event| event.event_id);
    let next_after = last.filter(|_| found.len() == limit);
    Ok(Json(ProjectedEvents { events: found.into_iter().map(value_of).collect(), next_after }))
}

/// Saves the folds of executions, independently of one another.
#[utoipa::path(
    post, path = "/api/internal/projection/advance", tag = "projector",
    request_body = AdvanceCall, responses((status = 200, body = AdvanceReply))
)]
async fn advance_projections(
    State(state): State<AppState>,
    Body(AdvanceCall { execution_ids }): Body<AdvanceCall>,
) -> Result<Json<AdvanceReply>, ApiError> {
    let distinct: BTreeSet<i64> = execution_ids.iter().map(|id| id.0).collect();
    if distinct.len() > ADVANCE_MAX {
        let detail = format!("one request advances at most {ADVANCE_MAX} executions");
        return Err(ApiError::invalid("batch-size", detail));
    }
    let mut reply = AdvanceReply { advanced: Vec::new(), failed: Vec::new() };
    for execution_id in distinct {
        match state.control().advance_projection(ExecutionId(execution_id)).await {
            Ok(advanced) => reply.advanced.push(AdvancedExecution {
                execution_id,
                version: advanced.last.0,
                events: advanced.events,
            }),
            Err(error) => {
                let error = ApiError::from(error).detail().to_owned();
                reply.failed.push(UnadvancedExecution { execution_id, error });
            }
        }
    }
    Ok(Json(reply))
}

/// Purges old data.
#[utoipa::path(
    post, path = "/api/internal/cleanup/purge", tag = "projector", request_body = PurgeCall,
    responses((status = 200, body = PurgeReply))
)]
async fn purge(
    State(state): State<AppState>,
    MaybeBody(call): MaybeBody<PurgeCall>,
) -> Result<Json<PurgeReply>, ApiError> {
    let before = |count: i64, unit: Duration| {
        let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
        let since = state.now().since(Timestamp::from_micros(0));
        Some(Timestamp::from_micros(0).after(since.saturating_sub(unit * count)))
    };
    let mut reply = PurgeReply {
        commands_purged: 0,
        runtime_purged: 0,
        events_purged: 0,
        event_partitions_dropped: None,
    };
    if let Some(before) = before(call.runtime_stale_minutes, MINUTE) {
        reply.runtime_purged = stale_runtimes(&state, before).await?;
    }
    if let Some(before) = before(call.event_retention_days, DAY) {
        for _ in 0..PURGES_MAX {
            let forgotten = state.records().forget_projected(before, PROJECT_MAX).await?;
            reply.events_purged += forgotten;
            if forgotten == 0 {
                break;
            }
        }
        reply.event_partitions_dropped = Some(state.records().expire(before).await?);
    }
    Ok(Json(reply))
}

async fn stale_runtimes(state: &AppState, before: Timestamp) -> Result<u64, ApiError> {
    let nothing = Timestamp::from_micros(0);
    let horizon = Horizon {
        expired: nothing,
        payloads: nothing,
        keychain: nothing,
        runtimes: before,
        audit: nothing,
    };
    let mut purged = 0;
    for _ in 0..PURGES_MAX {
        let collected = state.records().collect(&horizon, PAGE_MAX).await?;
        purged += collected.runtimes;
        if collected.runtimes == 0 {
            break;
        }
    }
    Ok(purged)
}
