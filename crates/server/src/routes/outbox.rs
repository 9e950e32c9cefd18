//! The outbox: pending messages, for programs that send them and for operators.
//!
//! Only notifications are handed out; messages between executions are delivered by the relay alone.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use noetl_api::AnyId;
use noetl_api::wire::{
    ClaimedMessage, MarkFailed, MarkPublished, MarkedFailed, MarkedPublished, OutboxChanged,
    OutboxClaim, OutboxClaimed, OutboxIds, OutboxPage, OutboxPending, PayloadCodec,
};
use noetl_app::{AfterFailure, ClaimedNotification, FailedSend, MarkedSent, OutboxError};
use noetl_bus::wire;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{Body, InQuery, MaybeBody};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(claim))
        .routes(routes!(mark_published))
        .routes(routes!(mark_failed))
        .routes(routes!(pending_count))
        .routes(routes!(list_messages))
        .routes(routes!(retry_messages))
        .routes(routes!(drop_messages))
}

/// Claims notifications to send, in order per execution.
#[utoipa::path(
    post, path = "/api/internal/outbox/claim", tag = "outbox", request_body = OutboxClaim,
    responses((status = 200, body = OutboxClaimed))
)]
async fn claim(
    State(state): State<AppState>,
    headers: HeaderMap,
    MaybeBody(request): MaybeBody<OutboxClaim>,
) -> Result<Json<OutboxClaimed>, ApiError> {
    let limit = usize::try_from(request.limit).unwrap_or(1);
    let claimed = state.app().claim_notifications(limit).await?;
    let server_url = addressed_as(&headers);
    let rows = claimed.iter().map(|it| message_of(it, request.payload_codec, &server_url));
    let rows: Vec<ClaimedMessage> = rows.collect();
    Ok(Json(OutboxClaimed { claimed: rows.len(), rows }))
}

fn message_of(
    claimed: &ClaimedNotification,
    codec: PayloadCodec,
    server_url: &str,
) -> ClaimedMessage {
    let ClaimedNotification { id, notification, attempts } = claimed;
    let bytes = wire::body(notification, server_url);
    ClaimedMessage {
        outbox_id: *id,
        event_id: notification.command.event_id.0,
        execution_id: notification.command.execution.0,
        subject: wire::subject(notification),
        message_id: wire::message_id(notification),
        payload: match codec {
            PayloadCodec::Json => serde_json::from_slice(&bytes).expect("a notification is JSON"),
            PayloadCodec::JsonBase64 => Value::String(STANDARD.encode(bytes)),
        },
        payload_codec: codec,
        attempts: *attempts,
    }
}

/// Returns the server's URL as the client addresses it.
pub(super) fn addressed_as(headers: &HeaderMap) -> String {
    let word = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = word(header::HeaderName::from_static("x-forwarded-proto")).unwrap_or("http");
    format!("{scheme}://{}", word(header::HOST).unwrap_or("localhost"))
}

/// Marks messages as sent.
#[utoipa::path(
    post, path = "/api/internal/outbox/mark-published", tag = "outbox",
    request_body = MarkPublished, responses((status = 200, body = MarkedPublished))
)]
async fn mark_published(
    State(state): State<AppState>,
    Body(request): Body<MarkPublished>,
) -> Result<Json<MarkedPublished>, ApiError> {
    let sent = state.app().mark_sent(&ids_of(&request.outbox_ids)).await?;
    let MarkedSent { marked, newly, unknown } = sent;
    Ok(Json(MarkedPublished { marked, newly, unknown }))
}

fn ids_of(ids: &[AnyId]) -> Vec<i64> {
    ids.iter().map(|id| id.0).collect()
}

/// Marks a message as failed and schedules the next try.
#[utoipa::path(
    post, path = "/api/internal/outbox/mark-failed", tag = "outbox", request_body = MarkFailed,
    responses((status = 200, body = MarkedFailed))
)]
async fn mark_failed(
    State(state): State<AppState>,
    Body(request): Body<MarkFailed>,
) -> Result<Json<MarkedFailed>, ApiError> {
    let seconds = u64::try_from(request.max_delay_seconds).unwrap_or(0);
    let failed = FailedSend {
        id: request.outbox_id.0,
        reason: request.error,
        attempts: request.attempts.map(|tries| u32::try_from(tries.max(0)).unwrap_or(u32::MAX)),
        delay_max: Duration::from_secs(seconds),
    };
    let (marked, available_at_in, status) = match state.app().mark_send_failed(failed).await? {
        AfterFailure::RetryIn(delay) => (true, Some(delay.as_secs()), "FAILED"),
        AfterFailure::Dead => (true, None, "DEAD"),
        AfterFailure::Sent => (false, None, "PUBLISHED"),
        AfterFailure::Unknown => (false, None, "UNKNOWN"),
    };
    Ok(Json(MarkedFailed { marked, available_at_in, status }))
}

/// Counts the messages that may be sent now.
#[utoipa::path(
    get, path = "/api/internal/outbox/pending-count", tag = "outbox",
    responses((status = 200, body = OutboxPending))
)]
async fn pending_count(State(state): State<AppState>) -> Result<Json<OutboxPending>, ApiError> {
    Ok(Json(OutboxPending { pending: state.app().pending_messages().await? }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct MessagesQuery {
    /// `PENDING`, `IN_FLIGHT`, `FAILED` or `DEAD`.
    status: Option<String>,
    /// List messages after this one.
    #[serde(default)]
    after: i64,
    limit: Option<usize>,
}

/// Lists the pending messages, oldest first.
#[utoipa::path(
    get, path = "/api/internal/outbox/messages", tag = "outbox", params(MessagesQuery),
    responses((status = 200, body = OutboxPage))
)]
async fn list_messages(
    State(state): State<AppState>,
    InQuery(query): InQuery<MessagesQuery>,
) -> Result<Json<OutboxPage>, ApiError> {
    let MessagesQuery { status, after, limit } = query;
    Ok(Json(state.app().list_messages(status.as_deref(), after, limit).await?))
}

/// Retries failed and dead messages at once.
#[utoipa::path(
    post, path = "/api/internal/outbox/retry", tag = "outbox", request_body = OutboxIds,
    responses((status = 200, body = OutboxChanged))
)]
async fn retry_messages(
    State(state): State<AppState>,
    Body(request): Body<OutboxIds>,
) -> Result<Json<OutboxChanged>, ApiError> {
    let changed = state.app().retry_messages(&ids_of(&request.outbox_ids)).await?;
    Ok(Json(OutboxChanged { changed }))
}

/// Deletes dead messages.
#[utoipa::path(
    post, path = "/api/internal/outbox/drop", tag = "outbox", request_body = OutboxIds,
    responses((status = 200, body = OutboxChanged))
)]
async fn drop_messages(
    State(state): State<AppState>,
    Body(request): Body<OutboxIds>,
) -> Result<Json<OutboxChanged>, ApiError> {
    let changed = state.app().drop_messages(&ids_of(&request.outbox_ids)).await?;
    Ok(Json(OutboxChanged { changed }))
}

impl From<OutboxError> for ApiError {
    fn from(error: OutboxError) -> Self {
        let detail = error.to_string();
        match error {
            OutboxError::NoIds | OutboxError::TooManyIds => {
                Self::new(StatusCode::BAD_REQUEST, "outbox-ids", detail)
            }
            OutboxError::NoReason => Self::new(StatusCode::BAD_REQUEST, "no-error", detail),
            OutboxError::UnknownState(_) => Self::invalid("unknown-status", detail),
            OutboxError::Store(error) => error.into(),
        }
    }
}
