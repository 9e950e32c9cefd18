//! Registration and heartbeats of existing workers.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use noetl_api::WorkerNotice;
use noetl_api::wire::{PoolAnswer, PoolName, PoolRegistration, PoolRow, WORKER_KIND};
use noetl_model::{Timestamp, WorkerId};
use noetl_store::{Records, Runtime, RuntimeKey, StoreError};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, InQuery};
use crate::state::AppState;

/// Kinds of components that may register.
const KINDS: &[&str] = &[WORKER_KIND, "server_api", "broker"];
/// Maximum length of a name, in bytes.
const NAME_MAX: usize = 500;
/// Number of lease durations without a heartbeat after which a worker counts as offline.
pub(crate) const SILENT_LEASES: u32 = 2;

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

/// Registers a worker.
#[utoipa::path(
    post, path = "/api/worker/pool/register", tag = "workers", request_body = PoolRegistration,
    responses((status = 200, body = PoolRow))
)]
async fn register_worker(
    State(state): State<AppState>,
    Body(registration): Body<PoolRegistration>,
) -> Result<Json<PoolRow>, ApiError> {
    let kind = kind_of(registration.kind.as_deref())?.to_owned();
    if registration.name.is_empty() || registration.name.len() > NAME_MAX {
        let detail = format!("the name of a worker has 1 to {NAME_MAX} bytes");
        return Err(ApiError::invalid("worker-name", detail));
    }
    let kept = take_in(&state, kind, registration).await?;
    // Workers repeat their registration; only the first is logged.
    if kept.created_at == kept.updated_at {
        tracing::info!(worker = kept.key.name, kind = kept.key.kind, "worker registered");
    }
    Ok(Json(shown(kept, state.now(), Duration::MAX)))
}

async fn take_in(
    state: &AppState,
    kind: String,
    registration: PoolRegistration,
) -> Result<Runtime, ApiError> {
    let runtime = runtime_of(state.next_id(), state.now(), kind, registration);
    Ok(state.records().put_runtime(&runtime).await?)
}

fn runtime_of(id: i64, now: Timestamp, kind: String, registration: PoolRegistration) -> Runtime {
    Runtime {
        id,
        key: RuntimeKey { kind, name: registration.name },
        uri: registration.uri,
        status: registration.status.unwrap_or_else(|| "active".to_owned()),
        labels: registration.labels,
        capabilities: registration.capabilities,
        capacity: registration.capacity,
        runtime: registration.runtime,
        heartbeat: now,
        created_at: now,
        updated_at: now,
    }
}

/// Stores a worker's registration; `id` is used if the worker is new.
pub async fn announce_worker(
    records: &dyn Records,
    id: i64,
    now: Timestamp,
    notice: &WorkerNotice,
) -> Result<(), StoreError> {
    let registration = PoolRegistration::of(notice);
    let runtime = runtime_of(id, now, WORKER_KIND.to_owned(), registration);
    records.put_runtime(&runtime).await.map(drop)
}

/// Deletes the registration of a worker that has ended.
pub async fn forget_worker(records: &dyn Records, worker: &WorkerId) -> Result<(), StoreError> {
    let key = RuntimeKey { kind: WORKER_KIND.to_owned(), name: worker.to_string() };
    records.remove_runtime(&key).await.map(drop)
}

/// Converts a registered component for clients; without a heartbeat for `silence` it is offline.
fn shown(runtime: Runtime, now: Timestamp, silence: Duration) -> PoolRow {
    let is_silent = now.since(runtime.heartbeat) > silence;
    PoolRow {
        runtime_id: runtime.id,
        name: runtime.key.name,
        kind: runtime.key.kind,
        uri: runtime.uri,
        status: if is_silent { "offline".to_owned() } else { runtime.status },
        labels: runtime.labels,
        capabilities: runtime.capabilities,
        capacity: runtime.capacity,
        runtime: runtime.runtime,
        heartbeat: runtime.heartbeat.to_string(),
        created_at: runtime.created_at.to_string(),
        updated_at: runtime.updated_at.to_string(),
    }
}

/// Renews the leases of a worker and records its heartbeat.
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
    let key = RuntimeKey { kind: kind.to_owned(), name: name.clone() };
    if !state.records().heard_runtime(&key, state.now()).await? {
        // The worker was silent for so long that its registration was deleted, and it does not
        // register again by itself.
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
        take_in(&state, kind.to_owned(), registration).await?;
    }
    Ok(Json(PoolAnswer { status: "ok", message: format!("{renewed} commands kept") }))
}

/// Deregisters a worker; its commands are free for others at once.
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

/// Deregisters a worker, for existing workers that use POST.
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
    let key = RuntimeKey { kind: kind.to_owned(), name: name.clone() };
    if !state.records().remove_runtime(&key).await? && released == 0 {
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

/// Lists the workers registered with any server of the cluster.
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
    let (now, runtimes) = (state.now(), state.records().runtimes(kind).await?);
    let mut rows: Vec<PoolRow> =
        runtimes.into_iter().map(|runtime| shown(runtime, now, silence)).collect();
    rows.retain(|row| {
        query.status.as_ref().is_none_or(|status| row.status == *status)
            && query.name.as_ref().is_none_or(|part| row.name.contains(part.as_str()))
    });
    Ok(Json(rows))
}
