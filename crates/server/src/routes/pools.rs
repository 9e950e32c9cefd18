//! Registration and heartbeats of existing workers.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::{PoolAnswer, PoolName, PoolRegistration, PoolRow};
use noetl_app::{WorkerError, WorkerFilter};
use noetl_model::Pool;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{Body, InQuery};
use crate::request::worker_sender::WorkerSender;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(register_worker))
        .routes(routes!(renew_worker))
        .routes(routes!(deregister_worker, deregister_worker_by_post))
        .routes(routes!(list_workers))
}

/// Registers a worker.
#[utoipa::path(
    post, path = "/api/worker/pool/register", tag = "workers", request_body = PoolRegistration,
    responses((status = 200, body = PoolRow))
)]
async fn register_worker(
    State(state): State<AppState>,
    sender: WorkerSender,
    Body(registration): Body<PoolRegistration>,
) -> Result<Json<PoolRow>, ApiError> {
    sender.check_worker(&registration.name)?;
    let pool = registration.labels.as_ref().and_then(|labels| labels["pool_name"].as_str());
    pool.map_or(Ok(()), |pool| sender.check_pool(&Pool::new(pool)))?;
    Ok(Json(state.app().register_worker(registration).await?))
}

/// Renews the leases of a worker and records its heartbeat.
#[utoipa::path(
    post, path = "/api/worker/pool/heartbeat", tag = "workers", request_body = PoolName,
    responses((status = 200, body = PoolAnswer))
)]
async fn renew_worker(
    State(state): State<AppState>,
    sender: WorkerSender,
    Body(PoolName { name, kind }): Body<PoolName>,
) -> Result<Json<PoolAnswer>, ApiError> {
    sender.check_worker(&name)?;
    let renewed = state.app().renew_worker(&name, kind.as_deref()).await?;
    Ok(Json(PoolAnswer { status: "ok", message: format!("{renewed} commands kept") }))
}

/// Deregisters a worker; its commands are free for others at once.
#[utoipa::path(
    delete, path = "/api/worker/pool/deregister", tag = "workers", request_body = PoolName,
    responses((status = 200, body = PoolAnswer))
)]
async fn deregister_worker(
    State(state): State<AppState>,
    sender: WorkerSender,
    Body(name): Body<PoolName>,
) -> Result<Json<PoolAnswer>, ApiError> {
    sender.check_worker(&name.name)?;
    deregister(&state, name).await.map(Json)
}

/// Deregisters a worker, for existing workers that use POST.
#[utoipa::path(
    post, path = "/api/worker/pool/deregister", tag = "workers", request_body = PoolName,
    responses((status = 200, body = PoolAnswer))
)]
async fn deregister_worker_by_post(
    State(state): State<AppState>,
    sender: WorkerSender,
    Body(name): Body<PoolName>,
) -> Result<Json<PoolAnswer>, ApiError> {
    sender.check_worker(&name.name)?;
    deregister(&state, name).await.map(Json)
}

async fn deregister(
    state: &AppState,
    PoolName { name, kind }: PoolName,
) -> Result<PoolAnswer, ApiError> {
    let released = state.app().deregister_worker(&name, kind.as_deref()).await?;
    Ok(PoolAnswer { status: "ok", message: format!("{name} is gone; {released} commands freed") })
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PoolsQuery {
    kind: Option<String>,
    status: Option<String>,
    /// A part of the name.
    name: Option<String>,
}

/// Lists the workers registered with any server of the cluster.
#[utoipa::path(
    get, path = "/api/worker/pools", tag = "workers", params(PoolsQuery),
    responses((status = 200, body = Vec<PoolRow>))
)]
async fn list_workers(
    State(state): State<AppState>,
    InQuery(query): InQuery<PoolsQuery>,
) -> Result<Json<Vec<PoolRow>>, ApiError> {
    let PoolsQuery { kind, status, name } = query;
    Ok(Json(state.app().list_workers(&WorkerFilter { kind, status, name }).await?))
}

impl From<WorkerError> for ApiError {
    fn from(error: WorkerError) -> Self {
        let detail = error.to_string();
        match error {
            WorkerError::UnknownKind => Self::invalid("unknown-kind", detail),
            WorkerError::InvalidName => Self::invalid("worker-name", detail),
            WorkerError::Unknown { .. } => Self::not_found("unknown-worker", detail),
            WorkerError::Store(error) => error.into(),
        }
    }
}
