//! Existing workers: that they are there, and that they still are.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::{PoolAnswer, PoolName, PoolRegistration, PoolRow};
use noetl_model::WorkerId;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, InQuery};
use crate::roster::{KINDS, WORKER_KIND};
use crate::state::AppState;

/// After how many leases without a heartbeat a worker counts as offline.
pub(super) const SILENT_LEASES: u32 = 2;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(register_worker))
        .routes(routes!(keep_worker))
        .routes(routes!(deregister_worker, deregister_worker_by_post))
        .routes(routes!(list_workers))
}

fn kind_of(kind: Option<&str>) -> Result<&str, ApiError> {
    let kind = kind.unwrap_or(WORKER_KIND);
    if KINDS.contains(&kind) {
        return Ok(kind);
    }
    Err(ApiError::invalid("unknown-kind", format!("`kind` is one of {}", KINDS.join(", "))))
}

/// Takes a worker in.
#[utoipa::path(
    post, path = "/api/worker/pool/register", tag = "workers", request_body = PoolRegistration,
    responses((status = 200, body = PoolRow))
)]
async fn register_worker(
    State(state): State<AppState>,
    Body(registration): Body<PoolRegistration>,
) -> Result<Json<PoolRow>, ApiError> {
    let kind = kind_of(registration.kind.as_deref())?.to_owned();
    let row = state.roster().register(&kind, registration, state.next_id(), state.now());
    tracing::info!(worker = row.name, kind, "worker registered");
    Ok(Json(row))
}

/// Keeps everything that a worker has, and notes that it is there.
#[utoipa::path(
    post, path = "/api/worker/pool/heartbeat", tag = "workers", request_body = PoolName,
    responses((status = 200, body = PoolAnswer))
)]
async fn keep_worker(
    State(state): State<AppState>,
    Body(PoolName { name, kind }): Body<PoolName>,
) -> Result<Json<PoolAnswer>, ApiError> {
    let kind = kind_of(kind.as_deref())?;
    let renewed = state.store().renew(&WorkerId::new(&name), state.settings().lease).await?;
    if !state.roster().heard(kind, &name, state.now()) {
        // It registered with another server, or before this one was started.
        let registration = PoolRegistration {
            name,
            kind: Some(kind.to_owned()),
            uri: None,
            status: Some("ready".to_owned()),
            labels: None,
            capabilities: None,
            capacity: None,
            runtime: None,
        };
        state.roster().register(kind, registration, state.next_id(), state.now());
    }
    Ok(Json(PoolAnswer { status: "ok", message: format!("{renewed} commands kept") }))
}

/// Lets a worker go; what it has is free for others at once.
#[utoipa::path(
    delete, path = "/api/worker/pool/deregister", tag = "workers", request_body = PoolName,
    responses((status = 200, body = PoolAnswer))
)]
async fn deregister_worker(
    State(state): State<AppState>,
    Body(name): Body<PoolName>,
) -> Result<Json<PoolAnswer>, ApiError> {
    let_go(&state, name).await.map(Json)
}

/// The same, as existing workers call it.
#[utoipa::path(
    post, path = "/api/worker/pool/deregister", tag = "workers", request_body = PoolName,
    responses((status = 200, body = PoolAnswer))
)]
async fn deregister_worker_by_post(
    State(state): State<AppState>,
    Body(name): Body<PoolName>,
) -> Result<Json<PoolAnswer>, ApiError> {
    let_go(&state, name).await.map(Json)
}

async fn let_go(
    state: &AppState,
    PoolName { name, kind }: PoolName,
) -> Result<PoolAnswer, ApiError> {
    let kind = kind_of(kind.as_deref())?;
    let released = state.store().release(&WorkerId::new(&name)).await?;
    if !state.roster().forget(kind, &name) && released == 0 {
        let detail = format!("there is no {kind} {name}");
        return Err(ApiError::not_found("unknown-worker", detail));
    }
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

/// Lists the workers that this server has heard of.
#[utoipa::path(
    get, path = "/api/worker/pools", tag = "workers", params(PoolsQuery),
    responses((status = 200, body = Vec<PoolRow>))
)]
async fn list_workers(
    State(state): State<AppState>,
    InQuery(query): InQuery<PoolsQuery>,
) -> Result<Json<Vec<PoolRow>>, ApiError> {
    let kind = kind_of(query.kind.as_deref())?;
    let silence = state.settings().lease * SILENT_LEASES;
    let mut rows = state.roster().list(kind, state.now(), silence);
    rows.retain(|row| {
        query.status.as_ref().is_none_or(|status| row.status == *status)
            && query.name.as_ref().is_none_or(|part| row.name.contains(part.as_str()))
    });
    Ok(Json(rows))
}
