//! Notifications about executions: list, test, pause and resume the documents that ask for them.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::{NotificationChoice, NotificationList, NotificationTest};
use noetl_app::NotificationError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::Body;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_notifications))
        .routes(routes!(test_notification))
        .routes(routes!(pause_notification))
        .routes(routes!(resume_notification))
}

/// Lists the notification documents, active ones first.
#[utoipa::path(
    get, path = "/api/notifications", tag = "notifications",
    responses((status = 200, body = NotificationList))
)]
async fn list_notifications(
    State(state): State<AppState>,
) -> Result<Json<NotificationList>, ApiError> {
    listed(&state).await
}

async fn listed(state: &AppState) -> Result<Json<NotificationList>, ApiError> {
    let listed = state.app().list_notifications().await?;
    Ok(Json(NotificationList { notifications: listed.into_iter().map(Into::into).collect() }))
}

/// Sends a sample to every target of a notification, without retries.
#[utoipa::path(
    post, path = "/api/notifications/test", tag = "notifications",
    request_body = NotificationChoice, responses((status = 200, body = NotificationTest))
)]
async fn test_notification(
    State(state): State<AppState>,
    Body(choice): Body<NotificationChoice>,
) -> Result<Json<NotificationTest>, ApiError> {
    let tested = state.app().test_notification(&choice.path).await?;
    Ok(Json(NotificationTest { results: tested.into_iter().map(Into::into).collect() }))
}

/// Pauses a notification: it requests nothing until it is resumed.
#[utoipa::path(
    post, path = "/api/notifications/pause", tag = "notifications",
    request_body = NotificationChoice, responses((status = 200, body = NotificationList))
)]
async fn pause_notification(
    State(state): State<AppState>,
    Body(choice): Body<NotificationChoice>,
) -> Result<Json<NotificationList>, ApiError> {
    state.app().pause_notification(&choice.path).await?;
    listed(&state).await
}

/// Resumes a paused notification.
#[utoipa::path(
    post, path = "/api/notifications/resume", tag = "notifications",
    request_body = NotificationChoice, responses((status = 200, body = NotificationList))
)]
async fn resume_notification(
    State(state): State<AppState>,
    Body(choice): Body<NotificationChoice>,
) -> Result<Json<NotificationList>, ApiError> {
    state.app().resume_notification(&choice.path).await?;
    listed(&state).await
}

impl From<NotificationError> for ApiError {
    fn from(error: NotificationError) -> Self {
        let detail = error.to_string();
        match error {
            NotificationError::Unknown(_) => ApiError::not_found("unknown-notification", detail),
            NotificationError::OtherKind { .. } => ApiError::conflict("not-a-notification", detail),
            NotificationError::Unreadable(..) => ApiError::conflict("invalid-document", detail),
            NotificationError::NoTransport => ApiError::conflict("no-notifications", detail),
            NotificationError::Catalog(error) => error.into(),
            NotificationError::Store(error) => error.into(),
        }
    }
}
