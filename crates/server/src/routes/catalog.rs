//! The catalog: registering and loading playbooks.

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use noetl_api::wire::{
    ArchiveAnswer, ArchiveRequest, BatchItem, CatalogEntry, CatalogList, CatalogPage,
    RegisterBatch, RegisterBatchAnswer, RegisterRequest, RegisteredPlaybook, ResourceRequest,
};
use noetl_app::{
    CatalogEntries, CatalogError, Credential, CredentialError, CredentialFilter, EntryChoice,
    EntryContents, PAGE_MAX, version_of,
};
use noetl_compat::catalog_payload;
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
/// The kind of credentials in lists of the catalog.
const CREDENTIAL: &str = "credential";

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(register_playbook))
        .routes(routes!(register_playbooks))
        .routes(routes!(list_playbooks))
        .routes(routes!(list_paths))
        .routes(routes!(show_playbook))
        .routes(routes!(archive_playbook))
        .routes(routes!(restore_playbook))
        .routes(routes!(delete_playbook))
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
pub(super) fn saved(registered: Registered) -> RegisteredPlaybook {
    let Registered { entry, warnings, is_restored } = registered;
    let restored = if is_restored { " and restored: it was archived" } else { "" };
    RegisteredPlaybook {
        status: "success",
        message: format!("{} is registered in version {}{restored}", entry.path, entry.version),
        path: entry.path,
        version: entry.version,
        catalog_id: entry.catalog_id.to_string(),
        kind: entry.kind.to_lowercase(),
        restored: is_restored,
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
            Ok(Registered { entry, warnings: _, is_restored }) => BatchItem::Registered {
                index,
                path: entry.path,
                version: entry.version,
                catalog_id: entry.catalog_id.to_string(),
                restored: is_restored,
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
    if page.resource_type.as_deref().is_some_and(is_credential) {
        return Ok(Json(listed_credentials(&state, &page).await?));
    }
    let listed = state.app().list_catalog(&page, &EntryContents::Included).await?;
    let CatalogEntries { entries, next_after } = listed;
    Ok(Json(CatalogList { entries: all_listed(entries).await?, next_after }))
}

fn is_credential(kind: &str) -> bool {
    kind.eq_ignore_ascii_case(CREDENTIAL)
}

/// Describes entries; their documents are parsed on a thread for blocking work.
pub(super) async fn all_listed(
    entries: Vec<noetl_app::CatalogEntry>,
) -> Result<Vec<CatalogEntry>, ApiError> {
    let described = tokio::task::spawn_blocking(move || entries.iter().map(listed).collect());
    described.await.map_err(|error| ApiError::internal(&error))
}

/// Lists credentials like other entries, without their secrets, ordered by name.
async fn listed_credentials(state: &AppState, page: &CatalogPage) -> Result<CatalogList, ApiError> {
    let found = state.app().list_credentials(&CredentialFilter::default()).await?;
    let mut entries: Vec<CatalogEntry> = found.into_iter().map(of_credential).collect();
    entries.retain(|it| {
        page.admits(CREDENTIAL, &it.path) && page.after.as_ref().is_none_or(|at| it.path > *at)
    });
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let limit = page.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    let mut entries: Vec<CatalogEntry> = entries.into_iter().skip(page.offset).collect();
    let next_after = entries.get(limit).and(entries.get(limit - 1)).map(|it| it.path.clone());
    entries.truncate(limit);
    Ok(CatalogList { entries, next_after })
}

/// Describes a credential without its secret.
fn of_credential(credential: Credential) -> CatalogEntry {
    let Credential { id, name, kind, tags, description, created_at, updated_at, .. } = credential;
    CatalogEntry {
        catalog_id: id.to_string(),
        path: name,
        kind: CREDENTIAL.to_owned(),
        version: 1,
        content: None,
        payload: Some(json!({ "type": kind, "tags": tags, "description": description })),
        meta: Some(json!({ "registered_at": updated_at.to_string() })),
        created_at: created_at.to_string(),
        archived_at: None,
    }
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
    if is_credential(&kind) {
        let found = state.app().list_credentials(&CredentialFilter::default()).await?;
        let mut names: Vec<String> = found.into_iter().map(|it| it.name).collect();
        names.sort();
        return Ok(Json(names));
    }
    Ok(Json(state.app().list_paths(kind).await?))
}

/// Describes an entry of a list: `payload` has the metadata and the workflow of its document.
fn listed(entry: &noetl_app::CatalogEntry) -> CatalogEntry {
    let document = noetl_playbook::document_value(entry.content.as_bytes());
    let labels = document.as_ref().and_then(|it| it.get("metadata")?.get("labels")?.as_object());
    let mut meta = labels.cloned().unwrap_or_default();
    meta.insert("registered_at".to_owned(), json!(entry.created_at.to_string()));
    CatalogEntry {
        payload: document.as_ref().map(catalog_payload),
        meta: Some(Value::Object(meta)),
        ..described(entry)
    }
}

/// Describes an entry without reading its document.
fn described(entry: &noetl_app::CatalogEntry) -> CatalogEntry {
    CatalogEntry {
        catalog_id: entry.catalog_id.to_string(),
        path: entry.path.clone(),
        kind: entry.kind.to_lowercase(),
        version: entry.version,
        content: None,
        payload: None,
        meta: None,
        created_at: entry.created_at.to_string(),
        archived_at: entry.archived_at.map(|at| at.to_string()),
    }
}

/// Archives a playbook with all its versions. It is not listed and starts nothing until it is
/// restored; its executions stay as they are, and running ones go on.
#[utoipa::path(
    post, path = "/api/catalog/delete", tag = "catalog", request_body = ArchiveRequest,
    responses((status = 200, body = ArchiveAnswer))
)]
async fn archive_playbook(
    State(state): State<AppState>,
    Body(request): Body<ArchiveRequest>,
) -> Result<Json<ArchiveAnswer>, ApiError> {
    Ok(Json(archived(state.app().archive(&wanted(request)?).await?)))
}

/// Restores an archived playbook with all its versions.
#[utoipa::path(
    post, path = "/api/catalog/restore", tag = "catalog", request_body = ArchiveRequest,
    responses((status = 200, body = ArchiveAnswer))
)]
async fn restore_playbook(
    State(state): State<AppState>,
    Body(request): Body<ArchiveRequest>,
) -> Result<Json<ArchiveAnswer>, ApiError> {
    Ok(Json(archived(state.app().restore(&wanted(request)?).await?)))
}

/// Archives a playbook with all its versions, by a catalog id, `pbk_` and a catalog id, or its path.
#[utoipa::path(
    delete, path = "/api/catalog/playbooks/{id}", tag = "catalog", params(("id" = String, Path)),
    responses((status = 200, body = ArchiveAnswer))
)]
async fn delete_playbook(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
) -> Result<Json<ArchiveAnswer>, ApiError> {
    let choice = EntryChoice::Named { name, version: None };
    Ok(Json(archived(state.app().archive(&choice).await?)))
}

fn wanted(request: ArchiveRequest) -> Result<EntryChoice, ApiError> {
    match (request.catalog_id, request.path) {
        (Some(id), _) => Ok(EntryChoice::Id(id.into())),
        (None, Some(name)) => Ok(EntryChoice::Named { name, version: None }),
        (None, None) => Err(ApiError::invalid("no-playbook", "name a `path` or a `catalog_id`")),
    }
}

fn archived(entry: noetl_app::CatalogEntry) -> ArchiveAnswer {
    let (status, message) = match entry.archived_at {
        Some(_) => ("archived", format!("{} is archived with all its versions", entry.path)),
        None => ("restored", format!("{} is active with all its versions", entry.path)),
    };
    ArchiveAnswer {
        status,
        message,
        path: entry.path,
        version: entry.version,
        catalog_id: entry.catalog_id.to_string(),
        archived_at: entry.archived_at.map(|at| at.to_string()),
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
            EntryChoice::Named { name: path, version: version_of(request.version.as_ref())? }
        }
        (None, None) => {
            return Err(ApiError::invalid("no-playbook", "name a `path` or a `catalog_id`"));
        }
    };
    let entry = match (state.app().catalog_entry(&choice).await, &choice) {
        (Ok(entry), _) => entry,
        (Err(CatalogError::Unknown), EntryChoice::Named { name, .. }) => {
            return shown_credential(&state, name).await;
        }
        (Err(error), _) => return Err(error.into()),
    };
    let parsed = noetl_playbook::parse(&entry.path, entry.content.as_bytes()).ok();
    let playbook = parsed.map(|checked| checked.playbook);
    Ok(Json(CatalogEntry {
        payload: playbook.as_ref().map(|it| Value::Object(it.workload.clone())),
        meta: playbook.as_ref().and_then(|it| it.metadata.all.get("labels").cloned()),
        content: Some(entry.content.clone()),
        ..described(&entry)
    }))
}

/// Shows the credential with a name that no playbook has.
async fn shown_credential(state: &AppState, name: &str) -> Result<Json<CatalogEntry>, ApiError> {
    match state.app().credential(name).await {
        Ok(credential) => Ok(Json(of_credential(credential))),
        Err(CredentialError::Unknown(_)) => Err(CatalogError::Unknown.into()),
        Err(
            error @ (CredentialError::InvalidWord(_)
            | CredentialError::InvalidTags
            | CredentialError::InvalidPolicy(_)
            | CredentialError::Vault(_)),
        ) => Err(error.into()),
    }
}

impl From<CatalogError> for ApiError {
    fn from(error: CatalogError) -> Self {
        let detail = error.to_string();
        match error {
            CatalogError::Unknown => Self::not_found("unknown-playbook", detail),
            CatalogError::NotAPlaybook { .. } => Self::conflict("not-a-playbook", detail),
            CatalogError::Ambiguous(names) => {
                Self::conflict("ambiguous-name", detail).with("candidates", json!(names.paths))
            }
            CatalogError::OtherPath { .. } => Self::conflict("other-path", detail),
            CatalogError::Changed { .. } => Self::conflict("version-changed", detail),
            CatalogError::Register(error) => error.into(),
            CatalogError::Store(error) => error.into(),
        }
    }
}
