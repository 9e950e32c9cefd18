//! Callbacks of jobs that run elsewhere, such as containers.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_app::CallbackError;
use noetl_compat::{Callback, CallbackAnswer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{Body, InPath};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(take_callback))
}

/// Records the end of a job; idempotent.
#[utoipa::path(
    post, path = "/api/internal/container-callback/{execution_id}/{step}", tag = "internal",
    params(("execution_id" = String, Path), ("step" = String, Path)), request_body = Callback,
    responses((status = 202, body = CallbackAnswer))
)]
async fn take_callback(
    State(state): State<AppState>,
    InPath((id, step)): InPath<(AnyId, String)>,
    Body(callback): Body<Callback>,
) -> Result<(StatusCode, Json<CallbackAnswer>), ApiError> {
    let answer = state.app().end_job(id.into(), &step, &callback).await?;
    let stale = matches!(answer, CallbackAnswer::AcceptedStale { .. });
    state.meters().callback(callback.state.name(), stale);
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

impl From<CallbackError> for ApiError {
    fn from(error: CallbackError) -> Self {
        match error {
            CallbackError::NoCommand(_) => Self::invalid("no-command", error.to_string()),
            CallbackError::Issued(error) => error.into(),
            CallbackError::Load(error) => error.into(),
            CallbackError::Submit(error) => error.into(),
        }
    }
}
