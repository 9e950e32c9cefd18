//! The operator's encryption key, and the audit log of accesses to secrets.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_app::{AuditFilter, SealedTable};
use noetl_model::Timestamp;
use noetl_secrets::RotationProgress;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InQuery, MaybeBody};
use crate::response::error::ApiError;
use crate::state::AppState;

/// Default maximum number of batches rotated per request.
const BATCHES_MAX: usize = 1000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(rotate_key))
        .routes(routes!(show_keys))
        .routes(routes!(list_accesses))
        .routes(routes!(resolve_elsewhere))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(default)]
struct RotateRequest {
    batch_size: usize,
    max_batches: usize,
}

impl Default for RotateRequest {
    fn default() -> Self {
        Self { batch_size: 100, max_batches: BATCHES_MAX }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct Rotated {
    credential: RotatedTableBody,
    keychain: RotatedTableBody,
    /// The key version that all rewrapped secrets use.
    key_version: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct RotatedTableBody {
    processed: u64,
    rewrapped: u64,
    skipped: u64,
    failed: u64,
    last_id: Option<String>,
    /// True if every row was processed; if not, repeat the request to continue.
    complete: bool,
}

impl From<RotationProgress> for RotatedTableBody {
    fn from(progress: RotationProgress) -> Self {
        let RotationProgress { processed, rewrapped, skipped, failed, last, is_complete } =
            progress;
        Self { processed, rewrapped, skipped, failed, last_id: last, complete: is_complete }
    }
}

/// Re-encrypts the data keys of all secrets with the current key; the secrets themselves are not
/// decrypted.
#[utoipa::path(
    post, path = "/api/internal/wallet/rotate-kek", tag = "secrets", request_body = RotateRequest,
    responses((status = 200, body = Rotated))
)]
async fn rotate_key(
    State(state): State<AppState>,
    MaybeBody(request): MaybeBody<RotateRequest>,
) -> Result<Json<Rotated>, ApiError> {
    let RotateRequest { batch_size, max_batches } = request;
    let rotation = state.app().rotate_keys(batch_size, max_batches).await?;
    for (table, progress) in
        [("credential", &rotation.credential), ("keychain", &rotation.keychain)]
    {
        state.meters().rotation(table, progress.rewrapped, progress.failed);
    }
    Ok(Json(Rotated {
        credential: rotation.credential.into(),
        keychain: rotation.keychain.into(),
        key_version: state.vault().key_version(),
    }))
}

/// Counts the secrets per key version.
#[utoipa::path(
    get, path = "/api/internal/wallet/key-status", tag = "secrets",
    responses((status = 200, body = Object))
)]
async fn show_keys(State(state): State<AppState>) -> Result<Json<Value>, ApiError> {
    let mut tables = Map::new();
    for table in SealedTable::ALL {
        let versions = state.vault().key_status(table).await?;
        let versions: Map<String, Value> =
            versions.into_iter().map(|(version, count)| (version, json!(count))).collect();
        tables.insert(table.as_str().to_owned(), Value::Object(versions));
    }
    tables.insert("current".to_owned(), json!(state.vault().key_version()));
    Ok(Json(Value::Object(tables)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AuditQuery {
    credential: Option<String>,
    #[param(value_type = Option<String>)]
    execution_id: Option<AnyId>,
    /// Start of the time range, such as 2026-01-31T09:30:00Z.
    from: Option<String>,
    /// End of the time range, exclusive.
    to: Option<String>,
    limit: Option<usize>,
}

#[derive(Debug, Serialize, ToSchema)]
struct AuditPage {
    rows: Vec<AuditRow>,
}

#[derive(Debug, Serialize, ToSchema)]
struct AuditRow {
    audit_id: String,
    occurred_at: String,
    credential: String,
    operation: String,
    outcome: String,
    worker_id: Option<String>,
    execution_id: Option<String>,
    parent_execution_id: Option<String>,
    server_region: Option<String>,
    broker_region: Option<String>,
    kek_version: Option<String>,
    notes: Option<String>,
}

/// Lists accesses to secrets, newest first.
#[utoipa::path(
    get, path = "/api/internal/secret-audit", tag = "secrets", params(AuditQuery),
    responses((status = 200, body = AuditPage))
)]
async fn list_accesses(
    State(state): State<AppState>,
    InQuery(query): InQuery<AuditQuery>,
) -> Result<Json<AuditPage>, ApiError> {
    let time = |name: &str, text: Option<String>| {
        text.map(|text| text.parse::<Timestamp>()).transpose().map_err(|error| {
            ApiError::new(StatusCode::BAD_REQUEST, "invalid-query", format!("`{name}`: {error}"))
        })
    };
    let filter = AuditFilter {
        credential: query.credential,
        execution: query.execution_id.map(Into::into),
        from: time("from", query.from)?,
        to: time("to", query.to)?,
    };
    let rows = state.app().secret_accesses(&filter, query.limit).await?.into_iter();
    let rows = rows.map(|it| AuditRow {
        audit_id: it.id.to_string(),
        occurred_at: it.at.to_string(),
        credential: it.credential,
        operation: it.operation,
        outcome: it.outcome,
        worker_id: it.worker,
        execution_id: it.execution.map(|it| it.to_string()),
        parent_execution_id: it.parent_execution.map(|it| it.to_string()),
        server_region: None,
        broker_region: None,
        kek_version: it.key_version,
        notes: it.notes,
    });
    Ok(Json(AuditPage { rows: rows.collect() }))
}

/// Always refused: a secret is not encrypted for a key that the caller chooses.
#[utoipa::path(
    post, path = "/api/internal/cross-region/resolve", tag = "secrets",
    responses((status = 403, body = noetl_api::wire::Problem))
)]
async fn resolve_elsewhere() -> ApiError {
    ApiError::new(
        StatusCode::FORBIDDEN,
        "cross-region",
        "this server hands no secret to another region; keep the credential in the region whose \
         workers use it",
    )
}
