//! Commands for existing workers, identified by the event that issued them.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_compat::{ClaimRequest, ClaimedCommand, Issued, claimed_command};
use noetl_control::ClaimAnswer;
use noetl_model::{Bindings, Lease, Payload, Pool, WorkerId};
use serde_json::{Map, Value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::issued::find_issued;
use crate::request::extract::{Body, InPath};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(show_command)).routes(routes!(claim_command))
}

/// Shows a command; its configuration is included only while a worker holds it.
#[utoipa::path(
    get, path = "/api/commands/{event_id}", tag = "workers",
    params(("event_id" = String, Path)), responses((status = 200, body = ClaimedCommand))
)]
async fn show_command(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<ClaimedCommand>, ApiError> {
    let issued = find_issued(&state, id.into()).await?;
    let lease = state.control().held_lease(issued.execution, issued.command).await?;
    told(&state, &issued, lease.as_ref()).await.map(Json)
}

/// Claims a command for a worker, unless another worker holds it.
#[utoipa::path(
    post, path = "/api/commands/{event_id}/claim", tag = "workers",
    params(("event_id" = String, Path)), request_body = ClaimRequest,
    responses((status = 200, body = ClaimedCommand))
)]
async fn claim_command(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    Body(request): Body<ClaimRequest>,
) -> Result<Json<ClaimedCommand>, ApiError> {
    let worker = worker_of(&request.worker_id)?;
    let issued = find_issued(&state, id.into()).await?;
    if issued.pool == Pool::control() {
        let detail = "the control plane carries this command out itself";
        return Err(ApiError::conflict("not-for-workers", detail));
    }
    let claim = state.control().claim_named(issued.execution, issued.command, &worker).await?;
    let lease = match claim {
        ClaimAnswer::Leased(lease) => lease,
        ClaimAnswer::Taken => {
            return Err(ApiError::conflict("active-claim", "another worker has this command"));
        }
        ClaimAnswer::Refused(refusal) => return Err(refusal.into()),
    };
    state.seen().claimed(issued.recorded.event_id, &worker, lease.attempt);
    told(&state, &issued, Some(&lease)).await.map(Json)
}

pub(super) fn worker_of(name: &str) -> Result<WorkerId, ApiError> {
    if name.is_empty() {
        return Err(ApiError::invalid("no-worker", "`worker_id` is empty"));
    }
    Ok(WorkerId::new(name))
}

/// Converts a command to the form of existing workers.
async fn told(
    state: &AppState,
    issued: &Issued,
    lease: Option<&Lease>,
) -> Result<ClaimedCommand, ApiError> {
    Ok(claimed_command(issued, lease, resolved(state, &issued.bindings).await?))
}

/// Loads the values that a command's templates refer to, including those stored by reference.
async fn resolved(state: &AppState, bindings: &Bindings) -> Result<Map<String, Value>, ApiError> {
    let mut values = Map::new();
    for (name, payload) in &bindings.0 {
        let value = match payload {
            Payload::Inline(value) => (**value).clone(),
            Payload::Ref(reference) => (*state.control().payload(reference.digest).await?).clone(),
        };
        values.insert(name.clone(), value);
    }
    Ok(values)
}
