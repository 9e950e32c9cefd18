//! Stores events of other programs, saves folds on request, and purges old data on request.
//!
//! Invariant: a batch with an invalid event stores nothing.

use std::time::Duration;

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_app::{EnvelopePage, ProjectError, PurgeAges, StoredEnvelopes};
use noetl_compat::{
    AdvanceCall, AdvanceReply, AdvancedExecution, BadEnvelope, MaterializeReply, ProjectCall,
    ProjectReply, ProjectedEvents, PurgeCall, PurgeReply, UnadvancedExecution, envelope_of,
    posted_envelope_of, value_of,
};
use noetl_model::{Envelope, ExecutionId};
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
        let detail = "`events` is empty";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "no-events", detail));
    }
    let now = state.now();
    let events = all_of(events, |event| envelope_of(event, now))?;
    let StoredEnvelopes { stored, duplicates } = state.app().store_envelopes(events).await?;
    Ok(Json(ProjectReply { projected: stored, duplicates }))
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
    let StoredEnvelopes { stored, duplicates } = state.app().store_envelopes(events).await?;
    Ok(Json(MaterializeReply { materialized: stored, duplicates }))
}

/// Parses all events; fails with the index of the first invalid one.
fn all_of(
    events: Vec<Value>,
    read: impl Fn(Value) -> Result<Envelope, BadEnvelope>,
) -> Result<Vec<Envelope>, ApiError> {
    let numbered = events.into_iter().enumerate();
    let read = numbered.map(|(index, event)| {
        read(event).map_err(|error| {
            let detail = format!("event {index} of the batch: {error}; no event was stored");
            ApiError::invalid("bad-event", detail).with("index", json!(index))
        })
    });
    read.collect()
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
    let ProjectedQuery { execution_id, after, limit } = query;
    let EnvelopePage { events, next_after } =
        state.app().stored_envelopes(execution_id.0, after, limit).await?;
    Ok(Json(ProjectedEvents { events: events.into_iter().map(value_of).collect(), next_after }))
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
    let executions = execution_ids.into_iter().map(ExecutionId::from).collect();
    let mut reply = AdvanceReply { advanced: Vec::new(), failed: Vec::new() };
    for (ExecutionId(execution_id), saved) in state.app().save_states(executions).await? {
        match saved {
            Ok(saved) => reply.advanced.push(AdvancedExecution {
                execution_id,
                version: saved.last.0,
                events: saved.events,
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
    let age = |count: i64, unit: Duration| {
        let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
        Some(unit * count)
    };
    let ages = PurgeAges {
        runtimes: age(call.runtime_stale_minutes, MINUTE),
        events: age(call.event_retention_days, DAY),
    };
    let purged = state.app().purge(ages).await?;
    Ok(Json(PurgeReply {
        commands_purged: 0,
        runtime_purged: purged.runtimes,
        events_purged: purged.events,
        event_partitions_dropped: purged.months,
    }))
}

impl From<ProjectError> for ApiError {
    fn from(error: ProjectError) -> Self {
        let detail = error.to_string();
        match error {
            ProjectError::TooManyEvents(_) | ProjectError::TooManyExecutions(_) => {
                Self::invalid("batch-size", detail)
            }
            ProjectError::Store(error) => error.into(),
        }
    }
}
