//! Routes for runtimes that fetch messages and hand them in, and for operators that handle dead
//! messages.

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use noetl_api::wire::{
    AttendCall, DeadChoice, DeadDropped, DeadRetried, FailedMessagesView, LeaveCall, MessagesCall,
    MessagesReply,
};
use noetl_api::{AnyId, Assignment};
use noetl_app::IntakeError;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{Body, InPath, InQuery};
use crate::request::strict::StrictBody;
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum number of messages per request.
const MESSAGES_MAX: usize = 1000;
/// Maximum size of the request, in bytes.
const MESSAGES_BYTES_MAX: usize = 32 * 1024 * 1024;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    let large = OpenApiRouter::new()
        .routes(routes!(take_messages))
        .layer(DefaultBodyLimit::max(MESSAGES_BYTES_MAX));
    OpenApiRouter::new()
        .routes(routes!(attend_subscription))
        .routes(routes!(leave_subscription))
        .routes(routes!(failed_messages))
        .routes(routes!(retry_dead_messages))
        .routes(routes!(drop_dead_messages))
        .merge(large)
}

/// Shows a runtime's assignment at a path.
#[utoipa::path(
    post, path = "/api/worker/subscriptions/attend", tag = "subscriptions",
    request_body = AttendCall, responses((status = 200, body = Object))
)]
async fn attend_subscription(
    State(state): State<AppState>,
    Body(call): Body<AttendCall>,
) -> Result<Json<Assignment>, ApiError> {
    Ok(Json(state.app().intake().attend(&call.runtime, &call.path).await?))
}

/// Takes messages; answers with one verdict per message, once durable.
#[utoipa::path(
    post, path = "/api/worker/subscriptions/messages", tag = "subscriptions",
    request_body = MessagesCall, responses((status = 200, body = MessagesReply))
)]
async fn take_messages(
    State(state): State<AppState>,
    Body(MessagesCall { runtime, subscription, messages }): Body<MessagesCall>,
) -> Result<Json<MessagesReply>, ApiError> {
    if messages.len() > MESSAGES_MAX {
        let detail = format!("one request hands in at most {MESSAGES_MAX} messages");
        return Err(ApiError::invalid("batch-size", detail));
    }
    let verdicts = state.app().intake().take(&runtime, subscription, messages).await?;
    Ok(Json(MessagesReply { verdicts }))
}

/// Ends a runtime's assignment, so that another one can fetch.
#[utoipa::path(
    post, path = "/api/worker/subscriptions/leave", tag = "subscriptions",
    request_body = LeaveCall, responses((status = 200, body = Object))
)]
async fn leave_subscription(
    State(state): State<AppState>,
    Body(call): Body<LeaveCall>,
) -> Result<Json<Value>, ApiError> {
    state.app().intake().leave(&call.runtime, call.subscription).await?;
    Ok(Json(json!({})))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct FailedQuery {
    /// List messages after this name.
    #[serde(default)]
    after: String,
    limit: Option<usize>,
}

/// Lists the failed messages of a subscription, including dead ones.
#[utoipa::path(
    get, path = "/api/subscriptions/{id}/dead", tag = "subscriptions",
    params(("id" = String, Path), FailedQuery),
    responses((status = 200, body = FailedMessagesView))
)]
async fn failed_messages(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<FailedQuery>,
) -> Result<Json<FailedMessagesView>, ApiError> {
    let FailedQuery { after, limit } = query;
    Ok(Json(state.app().intake().failed_messages(id.into(), &after, limit).await?))
}

/// Retries dead messages: the named ones, or all.
#[utoipa::path(
    post, path = "/api/subscriptions/{id}/dead/retry", tag = "subscriptions",
    params(("id" = String, Path)), request_body = DeadChoice,
    responses((status = 200, body = DeadRetried))
)]
async fn retry_dead_messages(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    StrictBody(choice): StrictBody<DeadChoice>,
) -> Result<Json<DeadRetried>, ApiError> {
    Ok(Json(state.app().intake().retry_dead(id.into(), &choice.names).await?))
}

/// Deletes dead messages: the named ones, or all.
#[utoipa::path(
    post, path = "/api/subscriptions/{id}/dead/drop", tag = "subscriptions",
    params(("id" = String, Path)), request_body = DeadChoice,
    responses((status = 200, body = DeadDropped))
)]
async fn drop_dead_messages(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    StrictBody(choice): StrictBody<DeadChoice>,
) -> Result<Json<DeadDropped>, ApiError> {
    let dropped = state.app().intake().drop_dead(id.into(), &choice.names).await?;
    Ok(Json(DeadDropped { dropped }))
}

impl From<IntakeError> for ApiError {
    fn from(error: IntakeError) -> Self {
        let detail = error.to_string();
        match error {
            IntakeError::Subscription(error) => error.into(),
            IntakeError::Pushed { .. } => ApiError::invalid("pushed-to", detail),
            IntakeError::Closed { .. } => ApiError::conflict("not-taking-messages", detail),
            IntakeError::Unavailable(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot accept messages");
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
            }
        }
    }
}
