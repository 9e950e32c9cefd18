//! Routes for playbook editors: loading, saving and checking a playbook's text, and its stored
//! tests.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use noetl_api::AnyId;
use noetl_api::wire::{CatalogList, CatalogPage, RegisteredPlaybook};
use noetl_model::Digest;
use noetl_playbook::{Document, Problems};
use noetl_store::{CatalogEntry, Object, ObjectKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::catalog::{DOCUMENT, PATHS_MAX, decoded, listed, newest_entries, saved};
use super::execute::version_of;
use crate::error::ApiError;
use crate::extract::{Body, InPath, InQuery};
use crate::state::AppState;

/// Maximum number of concurrent lookups.
const LOOKUPS_MAX: usize = 16;
/// Maximum length of a suite's name, in bytes.
const SUITE_NAME_MAX: usize = 200;
/// Maximum size of a suite, in bytes.
const SUITE_BYTES_MAX: usize = 1024 * 1024;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_agents))
        .routes(routes!(save_playbook))
        .routes(routes!(playbook_content, save_content))
        .routes(routes!(check_playbook))
        .routes(routes!(delete_playbook))
        .routes(routes!(explain_playbook))
        .routes(routes!(generate_playbook))
        .routes(routes!(show_suite, save_suite, remove_suite))
}

/// Lists the playbooks marked as agents, each at its newest version.
#[utoipa::path(
    post, path = "/api/catalog/agents/list", tag = "catalog", request_body = CatalogPage,
    responses((status = 200, body = CatalogList))
)]
async fn list_agents(
    State(state): State<AppState>,
    Body(page): Body<CatalogPage>,
) -> Result<Json<CatalogList>, ApiError> {
    let page = CatalogPage { resource_type: None, ..page };
    let entries = newest_entries(&state, PATHS_MAX).await?.into_iter();
    let wanted = entries.filter(|it| page.admits(&it.kind, &it.path));
    // The list has no contents, so each entry is loaded, several at a time.
    let contents = stream::iter(wanted.map(|it| state.store().by_id(it.catalog_id)));
    let found: Vec<Option<CatalogEntry>> = contents.buffered(LOOKUPS_MAX).try_collect().await?;
    let agents = found.iter().flatten().filter(|entry| is_agent(entry));
    Ok(Json(CatalogList { entries: agents.map(listed).collect(), next_after: None }))
}

/// True if a document has `metadata.agent: true`.
fn is_agent(entry: &CatalogEntry) -> bool {
    if !entry.content.contains("agent") {
        return false;
    }
    let parsed = noetl_playbook::parse(&entry.path, entry.content.as_bytes());
    let agent = |checked: noetl_playbook::Checked| {
        checked.playbook.metadata.all.get("agent").and_then(Value::as_bool)
    };
    parsed.ok().and_then(agent).unwrap_or(false)
}

/// A playbook to save.
#[derive(Debug, Deserialize, ToSchema)]
struct SaveRequest {
    /// The YAML text, plain or in base64.
    content: String,
    /// The path that the text is expected to have.
    path: Option<String>,
    /// A catalog id or a path of the playbook open in the editor.
    #[serde(alias = "id", alias = "catalog_id")]
    playbook_id: Option<Value>,
}

/// Saves a playbook as the next version of its path, if it is valid.
#[utoipa::path(
    put, path = "/api/catalog/playbook", tag = "catalog", request_body = SaveRequest,
    responses((status = 200, body = RegisteredPlaybook))
)]
async fn save_playbook(
    State(state): State<AppState>,
    Body(request): Body<SaveRequest>,
) -> Result<Json<RegisteredPlaybook>, ApiError> {
    save(&state, request).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// A catalog id or a path.
    #[serde(alias = "id", alias = "catalog_id")]
    playbook_id: Option<String>,
    path: Option<String>,
    /// A number, or `latest`.
    #[param(value_type = Option<String>)]
    version: Option<Value>,
}

#[derive(Debug, Serialize, ToSchema)]
struct PlaybookContent {
    catalog_id: String,
    path: String,
    version: u32,
    content: String,
}

/// Shows a playbook's text.
#[utoipa::path(
    get, path = "/api/catalog/playbook/content", tag = "catalog", params(Wanted),
    responses((status = 200, body = PlaybookContent))
)]
async fn playbook_content(
    State(state): State<AppState>,
    InQuery(wanted): InQuery<Wanted>,
) -> Result<Json<PlaybookContent>, ApiError> {
    let entry = found(&state, &wanted).await?;
    Ok(Json(PlaybookContent {
        catalog_id: entry.catalog_id.to_string(),
        path: entry.path,
        version: entry.version,
        content: entry.content,
    }))
}

/// Saves a playbook's text as the next version of its path, if it is valid.
#[utoipa::path(
    put, path = "/api/catalog/playbook/content", tag = "catalog", params(Wanted),
    request_body = SaveRequest, responses((status = 200, body = RegisteredPlaybook))
)]
async fn save_content(
    State(state): State<AppState>,
    InQuery(wanted): InQuery<Wanted>,
    Body(request): Body<SaveRequest>,
) -> Result<Json<RegisteredPlaybook>, ApiError> {
    let named = wanted.playbook_id.map(Value::String);
    let playbook_id = request.playbook_id.or(named);
    save(&state, SaveRequest { path: request.path.or(wanted.path), playbook_id, ..request }).await
}

async fn save(
    state: &AppState,
    request: SaveRequest,
) -> Result<Json<RegisteredPlaybook>, ApiError> {
    let content = decoded(&request.content);
    let expected = match (request.path, request.playbook_id) {
        (Some(path), _) => Some(path),
        (None, Some(id)) => {
            let playbook_id = Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned));
            let wanted = Wanted { playbook_id, ..Wanted::default() };
            Some(found(state, &wanted).await?.path)
        }
        (None, None) => None,
    };
    if let Some(expected) = expected {
        let document = noetl_playbook::parse_document(DOCUMENT, content.as_bytes());
        let path = path_of(document.map_err(|problems| ApiError::of_problems(&problems))?);
        if path != expected {
            let detail = format!("the text is of {path}, not of {expected}; register it apart");
            return Err(ApiError::conflict("other-path", detail));
        }
    }
    saved(state, &content).await.map(Json)
}

fn path_of(document: Document) -> String {
    match document {
        Document::Playbook(checked) => checked.playbook.metadata.path,
        Document::Subscription(checked) => checked.subscription.metadata.path,
        Document::Schedule(checked) => checked.schedule.metadata.path,
    }
}

/// Loads the entry that a query selects.
async fn found(state: &AppState, wanted: &Wanted) -> Result<CatalogEntry, ApiError> {
    let version = version_of(wanted.version.as_ref())?;
    let id = wanted.playbook_id.as_deref().and_then(|text| text.parse::<i64>().ok()).map(AnyId);
    let found = match (id, wanted.path.as_ref().or(wanted.playbook_id.as_ref())) {
        (Some(id), _) => state.store().by_id(id.into()).await?,
        (None, Some(path)) => state.store().by_path(path, version).await?,
        (None, None) => {
            return Err(ApiError::invalid("no-playbook", "name a `path` or a `playbook_id`"));
        }
    };
    found.ok_or_else(|| ApiError::not_found("unknown-playbook", "the catalog has no such playbook"))
}

/// A text to check.
#[derive(Debug, Deserialize, ToSchema)]
struct CheckRequest {
    /// The YAML text, plain or in base64.
    #[serde(alias = "yaml")]
    content: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct CheckAnswer {
    valid: bool,
    /// Errors that prevent registration, each with line and column.
    #[schema(value_type = Vec<Object>)]
    errors: Value,
    /// Warnings for the author.
    #[schema(value_type = Vec<Object>)]
    warnings: Value,
}

/// Checks a playbook without storing it.
#[utoipa::path(
    post, path = "/api/catalog/playbooks/validate", tag = "catalog", request_body = CheckRequest,
    responses((status = 200, body = CheckAnswer))
)]
async fn check_playbook(Body(request): Body<CheckRequest>) -> Json<CheckAnswer> {
    let content = decoded(&request.content);
    let warned = |warnings: Problems| CheckAnswer {
        valid: true,
        errors: json!([]),
        warnings: json!(warnings),
    };
    Json(match noetl_playbook::parse_document(DOCUMENT, content.as_bytes()) {
        Ok(Document::Playbook(checked)) => warned(checked.warnings),
        Ok(Document::Subscription(checked)) => warned(checked.warnings),
        Ok(Document::Schedule(checked)) => warned(checked.warnings),
        Err(problems) => CheckAnswer { valid: false, errors: json!(problems), warnings: json!([]) },
    })
}

/// Always refused: executions refer to versions of playbooks, so they are kept.
#[utoipa::path(
    delete, path = "/api/catalog/playbooks/{id}", tag = "catalog", params(("id" = String, Path)),
    responses((status = 501, description = "not served"))
)]
async fn delete_playbook() -> ApiError {
    let detail =
        "a version of a playbook is kept, since executions refer to it; register a new one";
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "kept-for-ever", detail)
}

/// Always refused: the server uses no language model.
#[utoipa::path(
    post, path = "/api/catalog/playbooks/explain/ai", tag = "catalog",
    responses((status = 501, description = "not served"))
)]
async fn explain_playbook() -> ApiError {
    no_model("read it with GET /api/catalog/playbook/content")
}

/// Always refused: the server uses no language model.
#[utoipa::path(
    post, path = "/api/catalog/playbooks/generate/ai", tag = "catalog",
    responses((status = 501, description = "not served"))
)]
async fn generate_playbook() -> ApiError {
    no_model("write it, and check it with POST /api/catalog/playbooks/validate")
}

fn no_model(way_out: &str) -> ApiError {
    let detail = format!("this server asks no language model; {way_out}");
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "no-language-model", detail)
}

/// Shows the stored tests of a playbook.
#[utoipa::path(
    get, path = "/api/playbook-tests/suites/{id}", tag = "catalog", params(("id" = String, Path)),
    responses((status = 200, body = Object))
)]
async fn show_suite(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Json<Value>, ApiError> {
    let kept = state.records().object(&suite_key(&id)?, state.now()).await?;
    let kept = kept.ok_or_else(|| unknown_suite(&id))?;
    serde_json::from_slice(&kept.body).map(Json).map_err(|error| ApiError::internal(&error))
}

/// Stores the tests of a playbook, replacing earlier ones; any JSON is accepted.
#[utoipa::path(
    put, path = "/api/playbook-tests/suites/{id}", tag = "catalog", params(("id" = String, Path)),
    request_body = Object, responses((status = 200, body = Object))
)]
async fn save_suite(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    Body(suite): Body<Value>,
) -> Result<Json<Value>, ApiError> {
    let body = suite.to_string().into_bytes();
    if body.len() > SUITE_BYTES_MAX {
        let detail = format!("a suite has at most {SUITE_BYTES_MAX} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail));
    }
    let now = state.now();
    let object = Object {
        key: suite_key(&id)?,
        media_type: "application/json".to_owned(),
        digest: Digest::of(&body),
        body,
        updated_at: now,
        expires_at: None,
    };
    state.records().put_object(&object).await?;
    Ok(Json(suite))
}

/// Deletes the stored tests of a playbook.
#[utoipa::path(
    delete, path = "/api/playbook-tests/suites/{id}", tag = "catalog",
    params(("id" = String, Path)), responses((status = 204))
)]
async fn remove_suite(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<StatusCode, ApiError> {
    let now = state.now();
    let kept = state.records().object(&suite_key(&id)?, now).await?;
    let kept = kept.ok_or_else(|| unknown_suite(&id))?;
    // An expired object counts as deleted, and is collected later.
    let gone = Object { body: Vec::new(), updated_at: now, expires_at: Some(now), ..kept };
    state.records().put_object(&gone).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn suite_key(id: &str) -> Result<ObjectKey, ApiError> {
    if id.is_empty() || id.len() > SUITE_NAME_MAX {
        let detail = format!("the name of a suite has 1 to {SUITE_NAME_MAX} bytes");
        return Err(ApiError::invalid("invalid-name", detail));
    }
    Ok(ObjectKey::suite(id))
}

fn unknown_suite(id: &str) -> ApiError {
    ApiError::not_found("unknown-suite", format!("there are no tests of the name {id}"))
}
