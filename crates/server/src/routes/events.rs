//! Events posted by existing workers and other programs, in any known spelling.
//!
//! A tool's result ends its command; later or repeated events about the command are answered and
//! have no effect.

use axum::Json;
use axum::extract::State;
use noetl_app::PostEventError;
use noetl_compat::{
    BadFact, EventAccepted, EventBatch, EventBatchAccepted, PostedEvent, PostedItem,
};
use noetl_model::ExecutionId;
use tokio::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::Body;
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum number of events per request.
const BATCH_MAX: usize = 10_000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(post_event)).routes(routes!(post_events))
}

/// Accepts an event of another program.
#[utoipa::path(
    post, path = "/api/events", tag = "workers", request_body = PostedEvent,
    responses((status = 200, body = EventAccepted))
)]
async fn post_event(
    State(state): State<AppState>,
    Body(PostedEvent { execution_id, item }): Body<PostedEvent>,
) -> Result<Json<EventAccepted>, ApiError> {
    let event_id = take(&state, execution_id.into(), item).await?;
    Ok(Json(EventAccepted { status: "ok", event_id, commands_generated: 0 }))
}

/// Accepts several events of one execution, in order. A refused event ends the request; the events
/// before it are stored, and the whole request may be sent again.
#[utoipa::path(
    post, path = "/api/events/batch", tag = "workers", request_body = EventBatch,
    responses((status = 200, body = EventBatchAccepted))
)]
async fn post_events(
    State(state): State<AppState>,
    Body(batch): Body<EventBatch>,
) -> Result<Json<EventBatchAccepted>, ApiError> {
    if batch.events.len() > BATCH_MAX {
        let detail = format!("a batch has at most {BATCH_MAX} events");
        return Err(ApiError::invalid("batch-size", detail));
    }
    let mut event_ids = Vec::with_capacity(batch.events.len());
    for item in batch.events {
        let worker_id = item.worker_id.or_else(|| batch.worker_id.clone());
        let item = PostedItem { worker_id, ..item };
        event_ids.push(take(&state, batch.execution_id.into(), item).await?);
    }
    Ok(Json(EventBatchAccepted { status: "ok", event_ids, commands_generated: 0 }))
}

/// Applies an event and measures it; returns its id.
async fn take(state: &AppState, execution: ExecutionId, item: PostedItem) -> Result<i64, ApiError> {
    state.app().check_existing_workers()?;
    let (name, begun) = (item.event_type.clone(), Instant::now());
    let taken = state.app().post_event(execution, item).await;
    state.meters().event(&name, taken.is_ok(), begun.elapsed());
    Ok(taken?)
}

impl From<PostEventError> for ApiError {
    fn from(error: PostEventError) -> Self {
        let detail = error.to_string();
        match error {
            PostEventError::ToolStatus(_) => Self::invalid("unknown-status", detail),
            PostEventError::ReservedName(_) => Self::invalid("reserved-event", detail),
            PostEventError::Fact(BadFact::Name) => Self::invalid("event-name", detail),
            PostEventError::Fact(BadFact::TooDeep) => Self::invalid("payload-too-large", detail),
            PostEventError::NoCommandId
            | PostEventError::InvalidCommandId(_)
            | PostEventError::OtherExecution { .. } => Self::invalid("no-command", detail),
            PostEventError::UnknownCommand(_) => Self::not_found("unknown-command", detail),
            PostEventError::NotClaimed => Self::conflict("not-claimed", detail),
            PostEventError::Superseded => Self::conflict("superseded", detail),
            PostEventError::ReportRefused(_) => Self::invalid("report-refused", detail),
            PostEventError::Refused(refusal) => refusal.into(),
            PostEventError::Issued(error) => error.into(),
            PostEventError::StoredResult(error) => error.into(),
            PostEventError::Load(error) => error.into(),
            PostEventError::Submit(error) => error.into(),
            PostEventError::Store(error) => error.into(),
        }
    }
}
