//! Commands for existing workers, identified by the event that issued them.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use noetl_api::AnyId;
use noetl_app::{IssuedCommandError, SecretInputs};
use noetl_compat::{ClaimRequest, ClaimedCommand};
use noetl_model::{Permission, WorkerId};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::outbox::addressed_as;
use crate::access::Admitted;
use crate::request::extract::{Body, InPath};
use crate::request::worker_sender::WorkerSender;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(show_command)).routes(routes!(claim_command))
}

/// Shows a command; its configuration is included only while a worker holds it. Secret inputs in it
/// are masked for tokens that may not work for all paths.
#[utoipa::path(
    get, path = "/api/commands/{event_id}", tag = "workers",
    params(("event_id" = String, Path)), responses((status = 200, body = ClaimedCommand))
)]
async fn show_command(
    State(state): State<AppState>,
    headers: HeaderMap,
    Extension(sender): Extension<Admitted>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<ClaimedCommand>, ApiError> {
    let secrets = match sender.permits_everywhere(Permission::Work) {
        true => SecretInputs::Opened,
        false => SecretInputs::Masked,
    };
    Ok(Json(state.app().issued_command(id.into(), &addressed_as(&headers), secrets).await?))
}

/// Claims a command for a worker, unless another worker holds it.
#[utoipa::path(
    post, path = "/api/commands/{event_id}/claim", tag = "workers",
    params(("event_id" = String, Path)), request_body = ClaimRequest,
    responses((status = 200, body = ClaimedCommand))
)]
async fn claim_command(
    State(state): State<AppState>,
    headers: HeaderMap,
    sender: WorkerSender,
    InPath(id): InPath<AnyId>,
    Body(request): Body<ClaimRequest>,
) -> Result<Json<ClaimedCommand>, ApiError> {
    state.app().check_existing_workers()?;
    let worker = worker_of(&request.worker_id)?;
    sender.check_worker(worker.as_str())?;
    Ok(Json(state.app().claim_issued(id.into(), &worker, &addressed_as(&headers)).await?))
}

pub(super) fn worker_of(name: &str) -> Result<WorkerId, ApiError> {
    if name.is_empty() {
        return Err(ApiError::invalid("no-worker", "`worker_id` is empty"));
    }
    Ok(WorkerId::new(name))
}

impl From<IssuedCommandError> for ApiError {
    fn from(error: IssuedCommandError) -> Self {
        let detail = error.to_string();
        match error {
            IssuedCommandError::UnknownEvent(_) => Self::not_found("unknown-command", detail),
            IssuedCommandError::ControlPool => Self::conflict("not-for-workers", detail),
            IssuedCommandError::Unrendered(_) => Self::conflict("command-failed", detail),
            IssuedCommandError::Held => Self::conflict("active-claim", detail),
            IssuedCommandError::Refused(refusal) => refusal.into(),
            IssuedCommandError::Load(error) => error.into(),
            IssuedCommandError::Payload(error) => error.into(),
            IssuedCommandError::Submit(error) => error.into(),
            IssuedCommandError::Store(error) => error.into(),
        }
    }
}
