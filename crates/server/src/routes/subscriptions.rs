//! Subscriptions: register, show, and change their state.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_api::wire::{
    SubscribeRequest, SubscriptionEventView, SubscriptionEvents, SubscriptionList, SubscriptionView,
};
use noetl_control::SubscriptionError;
use noetl_engine::SubscriptionAction;
use noetl_model::{ExecutionId, Seq};
use noetl_store::{PAGE_MAX, SubscriptionRow};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, InPath};
use crate::state::AppState;

/// Maximum number of subscriptions in a list.
const LIST_MAX: usize = 10_000;

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
    let mut rows: Vec<SubscriptionRow> = Vec::new();
    loop {
        let page = state.store().subscriptions(rows.last().map(|row| row.id)).await?;
        let is_last = page.len() < PAGE_MAX;
        rows.extend(page);
        if is_last || rows.len() >= LIST_MAX {
            break;
        }
    }
    Ok(Json(SubscriptionList { subscriptions: rows.into_iter().map(view).collect() }))
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
    Ok(Json(view(state.control().subscribe(&request.path).await?)))
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
    Ok(Json(view(state.control().subscribe(&request.path).await?)))
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
    let id = ExecutionId::from(id);
    let row = state.store().subscription(id).await?;
    Ok(Json(view(row.ok_or(SubscriptionError::Unknown(id))?)))
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
    let id = ExecutionId::from(id);
    let records = state.store().subscription_events(id, Seq::ZERO).await?;
    if records.is_empty() {
        return Err(SubscriptionError::Unknown(id).into());
    }
    let events = records.iter().map(|record| SubscriptionEventView {
        seq: record.seq.0,
        event_id: record.event_id.to_string(),
        event_type: record.event.as_str().to_owned(),
        state: record.event.state().to_string(),
        created_at: record.at.to_string(),
    });
    Ok(Json(SubscriptionEvents { events: events.collect() }))
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
    Ok(Json(view(state.control().move_subscription(id.into(), action).await?)))
}

fn view(row: SubscriptionRow) -> SubscriptionView {
    SubscriptionView {
        subscription_id: row.id.to_string(),
        state: row.state().to_string(),
        last_event_type: row.last_event.as_str().to_owned(),
        updated_at: row.updated_at.to_string(),
        catalog_id: row.catalog_id.to_string(),
        path: row.path,
    }
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
