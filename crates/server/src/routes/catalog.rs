//! The catalog: registering and loading playbooks.

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use noetl_api::wire::{
    BatchItem, CatalogEntry, CatalogList, CatalogPage, RegisterBatch, RegisterBatchAnswer,
    RegisterRequest, RegisteredPlaybook, ResourceRequest,
};
use noetl_app::{CatalogEntries, CatalogError, EntryChoice, version_of};
use noetl_control::{RegisterError, Registered};
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::ui_schema::ui_schema;
use crate::request::extract::{Body, InPath};
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum number of playbooks per request.
const BATCH_MAX: usize = 200;
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(register_playbook))
        .routes(routes!(register_playbooks))
        .routes(routes!(list_playbooks))
        .routes(routes!(list_paths))
        .routes(routes!(show_playbook))
        .route("/api/catalog/{*path}", get(ui_schema))
}

/// Registers a playbook, if it is valid; registering the same content again returns the same
/// version.
#[utoipa::path(
    post, path = "/api/catalog/register", tag = "catalog", request_body = RegisterRequest,
    responses((status = 200, body = RegisteredPlaybook))
)]
async fn register_playbook(
    State(state): State<AppState>,
    Body(request): Body<RegisterRequest>,
) -> Result<Json<RegisteredPlaybook>, ApiError> {
    Ok(Json(saved(state.app().register(&decoded(&request.content)).await?)))
}

/// Describes a registered document.
pub(super) fn saved(Registered { entry, warnings }: Registered) -> RegisteredPlaybook {
    RegisteredPlaybook {
        status: "success",
        message: format!("{} is registered in version {}", entry.path, entry.version),
        path: entry.path,
        version: entry.version,
        catalog_id: entry.catalog_id.to_string(),
        kind: entry.kind.to_lowercase(),
        warnings: json!(warnings),
    }
}

/// Registers several playbooks independently of one another.
#[utoipa::path(
    post, path = "/api/catalog/register/batch", tag = "catalog", request_body = RegisterBatch,
    responses((status = 200, body = RegisterBatchAnswer))
)]
async fn register_playbooks(
    State(state): State<AppState>,
    Body(batch): Body<RegisterBatch>,
) -> Result<Json<RegisterBatchAnswer>, ApiError> {
    let count = batch.items.len();
    if count > BATCH_MAX {
        let detail = format!("a batch has at most {BATCH_MAX} playbooks, not {count}");
        return Err(ApiError::invalid("batch-size", detail));
    }
    let mut results = Vec::with_capacity(count);
    for (index, request) in batch.items.iter().enumerate() {
        results.push(match keep(&state, request).await.map_err(ApiError::from) {
            Ok(Registered { entry, warnings: _ }) => BatchItem::Registered {
                index,
                path: entry.path,
                version: entry.version,
                catalog_id: entry.catalog_id.to_string(),
            },
            Err(error) => BatchItem::Error {
                index,
                error: error.detail().to_owned(),
                diagnostics: error.more("diagnostics").cloned().unwrap_or(json!([])),
            },
        });
    }
    let failed = results.iter().filter(|item| matches!(item, BatchItem::Error { .. })).count();
    Ok(Json(RegisterBatchAnswer { registered: count - failed, failed, results }))
}

async fn keep(state: &AppState, request: &RegisterRequest) -> Result<Registered, RegisterError> {
    state.app().register(&decoded(&request.content)).await
}

/// Returns the text of a document that is sent plain or in base64.
pub(super) fn decoded(content: &str) -> String {
    let compact: String = content.split_ascii_whitespace().collect();
    let bytes = BASE64_STANDARD.decode(compact).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| content.to_owned())
}

/// Lists every path at its newest version.
#[utoipa::path(
    post, path = "/api/catalog/list", tag = "catalog", request_body = CatalogPage,
    responses((status = 200, body = CatalogList))
)]
async fn list_playbooks(
    State(state): State<AppState>,
    Body(page): Body<CatalogPage>,
) -> Result<Json<CatalogList>, ApiError> {
    let CatalogEntries { entries, next_after } = state.app().list_catalog(&page).await?;
    Ok(Json(CatalogList { entries: entries.iter().map(listed).collect(), next_after }))
}

/// Lists the paths of a kind.
#[utoipa::path(
    get, path = "/api/catalog/list/{kind}", tag = "catalog",
    params(("kind" = String, Path, description = "Whatever its case")),
    responses((status = 200, body = Vec<String>))
)]
async fn list_paths(
    State(state): State<AppState>,
    InPath(kind): InPath<String>,
) -> Result<Json<Vec<String>>, ApiError> {
    Ok(Json(state.app().list_paths(kind).await?))
}

pub(super) fn listed(entry: &noetl_app::CatalogEntry) -> CatalogEntry {
    CatalogEntry {
        catalog_id: entry.catalog_id.to_string(),
        path: entry.path.clone(),
        kind: entry.kind.to_lowercase(),
        version: entry.version,
        content: None,
        payload: None,
        meta: None,
        created_at: entry.created_at.to_string(),
    }
}

/// Shows one version of a playbook.
#[utoipa::path(
    post, path = "/api/catalog/resource", tag = "catalog", request_body = ResourceRequest,
    responses((status = 200, body = CatalogEntry))
)]
async fn show_playbook(
    State(state): State<AppState>,
    Body(request): Body<ResourceRequest>,
) -> Result<Json<CatalogEntry>, ApiError> {
    let choice = match (request.catalog_id, request.path) {
        (Some(id), _) => EntryChoice::Id(id.into()),
        (None, Some(path)) => {
            EntryChoice::Path { path, version: version_of(request.version.as_ref())? }
        }
        (None, None) => {
            return Err(ApiError::invalid("no-playbook", "name a `path` or a `catalog_id`"));
        }
    };
    let entry = state.app().catalog_entry(&choice).await?;
    let parsed = noetl_playbook::parse(&entry.path, entry.content.as_bytes()).ok();
    let playbook = parsed.map(|checked| checked.playbook);
    Ok(Json(CatalogEntry {
        payload: playbook.as_ref().map(|it| Value::Object(it.workload.clone())),
        meta: playbook.as_ref().and_then(|it| it.metadata.all.get("labels").cloned()),
        content: Some(entry.content.clone()),
        ..listed(&entry)
    }))
}

impl From<CatalogError> for ApiError {
    fn from(error: CatalogError) -> Self {
        let detail = error.to_string();
        match error {
            CatalogError::Unknown => Self::not_found("unknown-playbook", detail),
            CatalogError::OtherPath { .. } => Self::conflict("other-path", detail),
            CatalogError::Register(error) => error.into(),
            CatalogError::Store(error) => error.into(),
        }
    }
}
