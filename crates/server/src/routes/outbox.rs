//! The outbox: pending messages, for programs that send them and for operators.
//!
//! Only notifications are handed out; messages between executions are delivered by the relay alone.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use noetl_api::wire::{
    ClaimedMessage, MarkFailed, MarkPublished, MarkedFailed, MarkedPublished, OutboxChanged,
    OutboxClaim, OutboxClaimed, OutboxIds, OutboxMessage, OutboxPage, OutboxPending, PayloadCodec,
};
use noetl_bus::{Notification, wire};
use noetl_control::notification;
use noetl_store::{
    Failure, Fate, Letter, LetterPage, MessageState, OUTBOX_TAKE_MAX, OutboxRow, Take, Taker,
};
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, InQuery, MaybeBody};
use crate::state::AppState;

/// Time after which a claimed message that is not marked may be claimed again.
const CLAIM_HOLD: Duration = Duration::from_secs(60);
/// Default number of messages per page.
const PAGE_SIZE: usize = 100;

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
    let limit = usize::try_from(request.limit).unwrap_or(1).clamp(1, OUTBOX_TAKE_MAX);
    let take = Take { taker: Taker::Publisher, limit, hold: CLAIM_HOLD };
    let taken = state.store().take(take).await?;
    let server_url = addressed_as(&headers);
    let (mut rows, mut for_nobody) = (Vec::with_capacity(taken.len()), Vec::new());
    for row in &taken {
        match notification(row) {
            Some(it) => {
                rows.push(claimed(&it, row, request.payload_codec, &server_url));
            }
            None => for_nobody.push(row.id),
        }
    }
    if !for_nobody.is_empty() {
        state.store().sent(&for_nobody).await?;
    }
    Ok(Json(OutboxClaimed { claimed: rows.len(), rows }))
}

fn claimed(
    it: &Notification,
    row: &OutboxRow,
    codec: PayloadCodec,
    server_url: &str,
) -> ClaimedMessage {
    let bytes = wire::body(it, server_url);
    ClaimedMessage {
        outbox_id: row.id,
        event_id: it.command.event_id.0,
        execution_id: it.command.execution.0,
        subject: wire::subject(it),
        message_id: wire::message_id(it),
        payload: match codec {
            PayloadCodec::Json => serde_json::from_slice(&bytes).expect("a notification is JSON"),
            PayloadCodec::JsonBase64 => Value::String(STANDARD.encode(bytes)),
        },
        payload_codec: codec,
        attempts: row.attempts,
    }
}

/// Returns the server's URL as the client addresses it.
fn addressed_as(headers: &HeaderMap) -> String {
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
    let ids = ids_of(request.outbox_ids.iter().map(|id| id.0).collect())?;
    let sent = state.store().sent(&ids).await?;
    Ok(Json(MarkedPublished { marked: sent.marked, unknown: sent.unknown }))
}

fn ids_of(ids: Vec<i64>) -> Result<Vec<i64>, ApiError> {
    let refused = |detail| Err(ApiError::new(StatusCode::BAD_REQUEST, "outbox-ids", detail));
    match ids.len() {
        0 => refused("name at least one message in `outbox_ids`".to_owned()),
        1..=OUTBOX_TAKE_MAX => Ok(ids),
        _ => refused(format!("name at most {OUTBOX_TAKE_MAX} messages in `outbox_ids`")),
    }
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
    if request.error.trim().is_empty() {
        let detail = "say in `error` why the message could not be sent";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "no-error", detail));
    }
    let id = request.outbox_id.0;
    let seconds = u64::try_from(request.max_delay_seconds).unwrap_or(0);
    let failure = Failure {
        id,
        error: request.error,
        attempts: request.attempts,
        delay_max: Duration::from_secs(seconds),
    };
    let fates = state.store().failed(&[failure]).await?;
    let (marked, available_at_in, status) = match fates.first() {
        Some(Fate::RetryIn(delay)) => (true, Some(delay.as_secs()), "FAILED"),
        Some(Fate::Dead) => (true, None, "DEAD"),
        Some(Fate::Over) => (false, None, "PUBLISHED"),
        Some(Fate::Unknown) | None => {
            let detail = format!("there never was a message {id}");
            return Err(ApiError::not_found("unknown-message", detail));
        }
    };
    Ok(Json(MarkedFailed { marked, available_at_in, status }))
}

/// Counts the messages that may be sent now.
#[utoipa::path(
    get, path = "/api/internal/outbox/pending-count", tag = "outbox",
    responses((status = 200, body = OutboxPending))
)]
async fn pending_count(State(state): State<AppState>) -> Result<Json<OutboxPending>, ApiError> {
    Ok(Json(OutboxPending { pending: state.store().pending().await? }))
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
    let status = query.status.map(|word| word.to_ascii_uppercase().parse::<MessageState>());
    let state_wanted = status
        .transpose()
        .map_err(|error| ApiError::invalid("unknown-status", error.to_string()))?;
    let limit = query.limit.unwrap_or(PAGE_SIZE).clamp(1, OUTBOX_TAKE_MAX);
    let page = LetterPage { state: state_wanted, after: query.after, limit };
    let letters = state.store().letters(page).await?;
    let next_after = letters.last().filter(|_| letters.len() == limit).map(|last| last.row.id);
    let messages = letters.into_iter().map(listed).collect();
    Ok(Json(OutboxPage { messages, next_after }))
}

fn listed(letter: Letter) -> OutboxMessage {
    let message = serde_json::to_value(&letter.row.message).expect("a message is JSON");
    OutboxMessage {
        outbox_id: letter.row.id,
        execution_id: letter.row.execution.to_string(),
        kind: message["type"].as_str().unwrap_or_default().to_owned(),
        status: letter.state.as_str().to_owned(),
        attempts: letter.row.attempts,
        last_error: letter.last_error,
        available_at: letter.available_at.map(|at| at.to_string()),
        created_at: letter.created_at.to_string(),
        message,
    }
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
    let ids = ids_of(request.outbox_ids.iter().map(|id| id.0).collect())?;
    Ok(Json(OutboxChanged { changed: state.store().revive(&ids).await? }))
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
    let ids = ids_of(request.outbox_ids.iter().map(|id| id.0).collect())?;
    Ok(Json(OutboxChanged { changed: state.store().discard(&ids).await? }))
}
