//! Subscriptions: register, show, and change their state.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_api::wire::{SubscribeRequest, SubscriptionEvents, SubscriptionList, SubscriptionView};
use noetl_control::SubscriptionError;
use noetl_engine::SubscriptionAction;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{Body, InPath};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_subscriptions, subscribe))
        .routes(routes!(register_subscription))
        .routes(routes!(show_subscription))
        .routes(routes!(subscription_events))
        .routes(routes!(move_subscription))
}

/// Lists all subscriptions, newest first.
#[utoipa::path(
    get, path = "/api/subscriptions", tag = "subscriptions",
    responses((status = 200, body = SubscriptionList))
)]
async fn list_subscriptions(
    State(state): State<AppState>,
) -> Result<Json<SubscriptionList>, ApiError> {
    Ok(Json(state.app().list_subscriptions().await?))
}

/// Returns the subscription at a path; registers one if there is none that is not deactivated.
#[utoipa::path(
    post, path = "/api/subscriptions", tag = "subscriptions", request_body = SubscribeRequest,
    responses((status = 200, body = SubscriptionView))
)]
async fn subscribe(
    State(state): State<AppState>,
    Body(request): Body<SubscribeRequest>,
) -> Result<Json<SubscriptionView>, ApiError> {
    Ok(Json(state.app().subscribe(&request.path).await?))
}

/// Registers a subscription (the path that existing workers use).
#[utoipa::path(
    post, path = "/api/subscriptions/register", tag = "subscriptions",
    request_body = SubscribeRequest, responses((status = 200, body = SubscriptionView))
)]
async fn register_subscription(
    State(state): State<AppState>,
    Body(request): Body<SubscribeRequest>,
) -> Result<Json<SubscriptionView>, ApiError> {
    Ok(Json(state.app().subscribe(&request.path).await?))
}

/// Shows a subscription.
#[utoipa::path(
    get, path = "/api/subscriptions/{id}", tag = "subscriptions",
    params(("id" = String, Path)), responses((status = 200, body = SubscriptionView))
)]
async fn show_subscription(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<SubscriptionView>, ApiError> {
    Ok(Json(state.app().subscription(id.into()).await?))
}

/// Lists the events of a subscription.
#[utoipa::path(
    get, path = "/api/subscriptions/{id}/events", tag = "subscriptions",
    params(("id" = String, Path)), responses((status = 200, body = SubscriptionEvents))
)]
async fn subscription_events(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<SubscriptionEvents>, ApiError> {
    Ok(Json(state.app().subscription_events(id.into()).await?))
}

/// Activates, pauses, resumes, drains or deactivates a subscription.
#[utoipa::path(
    post, path = "/api/subscriptions/{id}/{action}", tag = "subscriptions",
    params(("id" = String, Path), ("action" = String, Path)),
    responses((status = 200, body = SubscriptionView))
)]
async fn move_subscription(
    State(state): State<AppState>,
    InPath((id, action)): InPath<(AnyId, String)>,
) -> Result<Json<SubscriptionView>, ApiError> {
    let action: SubscriptionAction =
        action.parse().map_err(|error: noetl_engine::UnknownAction| {
            ApiError::invalid("unknown-action", error.to_string())
        })?;
    Ok(Json(state.app().move_subscription(id.into(), action).await?))
}

impl From<SubscriptionError> for ApiError {
    fn from(error: SubscriptionError) -> Self {
        let detail = error.to_string();
        match error {
            SubscriptionError::UnknownPath(_) => ApiError::not_found("unknown-path", detail),
            SubscriptionError::Unknown(_) => ApiError::not_found("unknown-subscription", detail),
            SubscriptionError::NotASubscription { .. } => {
                ApiError::invalid("not-a-subscription", detail)
            }
            SubscriptionError::Illegal(_) => ApiError::invalid("illegal-transition", detail),
            SubscriptionError::Replaced { .. } => ApiError::conflict("replaced", detail),
            SubscriptionError::Contended => {
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "contended", detail)
            }
            SubscriptionError::Damaged(problems) => ApiError::of_problems(&problems),
            SubscriptionError::Store(error) => error.into(),
        }
    }
}
