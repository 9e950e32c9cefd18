//! Layout of the store: connections, shards and tables.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_model::{ExecutionId, shard_of};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum `shard_count` of a request.
const SHARDS_ASKED_MAX: usize = 1024;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(pool_status))
        .routes(routes!(shard_info))
        .routes(routes!(init_database))
        .routes(routes!(validate_database))
}

/// The connection pool of the store.
#[derive(Debug, Serialize, ToSchema)]
struct PoolStatus {
    pool_min: u32,
    pool_max: u32,
    pool_size: u32,
    pool_available: u32,
    /// 0 while a connection is available; otherwise unknown.
    requests_waiting: Option<u32>,
    /// Fraction of `pool_max` in use.
    utilization: f64,
    slots_available: u32,
    /// `ok`, `saturated`, or `not_pooled` for a store without connections.
    status: &'static str,
}

/// Shows the usage of the store's connection pool.
#[utoipa::path(
    get, path = "/api/pool/status", tag = "system", responses((status = 200, body = PoolStatus))
)]
async fn pool_status(State(state): State<AppState>) -> Json<PoolStatus> {
    let connections = state.app().store_connections();
    let it = connections.unwrap_or_default();
    let in_use = it.open.saturating_sub(it.idle);
    let slots_available = it.max.saturating_sub(in_use);
    let is_saturated = slots_available == 0;
    Json(PoolStatus {
        pool_min: it.min,
        pool_max: it.max,
        pool_size: it.open,
        pool_available: it.idle,
        requests_waiting: (connections.is_none() || !is_saturated).then_some(0),
        utilization: if it.max == 0 { 0.0 } else { f64::from(in_use) / f64::from(it.max) },
        slots_available,
        status: match connections {
            None => "not_pooled",
            Some(_) if is_saturated => "saturated",
            Some(_) => "ok",
        },
    })
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ShardQuery {
    #[param(value_type = String)]
    execution_id: AnyId,
    /// Number of shards, 1 to 1024.
    shard_count: usize,
}

#[derive(Debug, Serialize, ToSchema)]
struct ShardInfo {
    execution_id: AnyId,
    shard_count: usize,
    shard_index: usize,
    source: &'static str,
    hash_function: &'static str,
    seed: u64,
    server_config: ServerShards,
}

/// The shards of this server's own store.
#[derive(Debug, Serialize, ToSchema)]
struct ServerShards {
    /// Always 0: any server serves any execution.
    shard_index: usize,
    shard_count: usize,
}

/// Computes the shard of an execution for a number of shards.
#[utoipa::path(
    get, path = "/api/runtime/shard-info", tag = "system", params(ShardQuery),
    responses((status = 200, body = ShardInfo))
)]
async fn shard_info(
    State(state): State<AppState>,
    InQuery(query): InQuery<ShardQuery>,
) -> Result<Json<ShardInfo>, ApiError> {
    let count = query.shard_count;
    if count == 0 || count > SHARDS_ASKED_MAX {
        let detail = format!("`shard_count` is 1 to {SHARDS_ASKED_MAX}");
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "shard-count", detail));
    }
    Ok(Json(ShardInfo {
        execution_id: query.execution_id,
        shard_count: count,
        shard_index: shard_of(ExecutionId::from(query.execution_id), count),
        source: "noetl-server",
        hash_function: "twox_hash::XxHash64",
        seed: 0,
        server_config: ServerShards { shard_index: 0, shard_count: state.app().store_shards() },
    }))
}

#[derive(Debug, Serialize, ToSchema)]
struct Initialized {
    status: &'static str,
    message: String,
    valid: bool,
}

/// Checks the database schema; it is created when a server starts, so nothing is changed.
#[utoipa::path(
    post, path = "/api/db/init", tag = "system", responses((status = 200, body = Initialized))
)]
async fn init_database(State(state): State<AppState>) -> Result<Json<Initialized>, ApiError> {
    let Validated { status, message, valid, .. } = validated(&state).await?;
    Ok(Json(Initialized { status, message, valid }))
}

#[derive(Debug, Serialize, ToSchema)]
struct Validated {
    status: &'static str,
    message: String,
    valid: bool,
    tables: Vec<String>,
    missing: Vec<String>,
}

/// Lists the tables, existing and missing.
#[utoipa::path(
    get, path = "/api/db/validate", tag = "system", responses((status = 200, body = Validated))
)]
async fn validate_database(State(state): State<AppState>) -> Result<Json<Validated>, ApiError> {
    validated(&state).await.map(Json)
}

async fn validated(state: &AppState) -> Result<Validated, ApiError> {
    let noetl_app::Tables { found, missing } = state.app().store_tables().await?;
    let valid = missing.is_empty();
    Ok(Validated {
        status: if valid { "ok" } else { "error" },
        message: if valid {
            "the schema is complete; servers make and migrate it when they start".to_owned()
        } else {
            format!("tables are missing: {}; start a server again to make them", missing.join(", "))
        },
        valid,
        tables: found,
        missing,
    })
}
