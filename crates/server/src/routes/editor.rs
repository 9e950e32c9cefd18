//! Routes for playbook editors: loading, saving and checking a playbook's text, and its stored
//! tests.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use noetl_api::wire::{
    AnalyzeRequest, CatalogList, CatalogPage, CompleteRequest, DocumentAnalysis,
    DocumentCompletions, RegisteredPlaybook,
};
use noetl_app::{
    DocumentTooLong, EntryChoice, EntryPath, Object, ObjectError, analyze_document, check_document,
    complete_document, version_of,
};
use noetl_model::CatalogId;
use noetl_playbook::Severity;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::catalog::{all_listed, decoded, saved};
use crate::request::extract::{Body, InPath, InQuery};
use crate::response::error::{ApiError, texts_of};
use crate::state::AppState;

/// The stored tests of a playbook; clients send the slashes of its path as they are.
const SUITE: &str = "/api/playbook-tests/suites/{*id}";

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_agents))
        .routes(routes!(save_playbook))
        .routes(routes!(playbook_content, save_content))
        .routes(routes!(check_playbook))
        .routes(routes!(analyze_playbook))
        .routes(routes!(complete_playbook))
        .routes(routes!(explain_playbook))
        .routes(routes!(generate_playbook))
        .route(SUITE, get(show_suite).put(save_suite).delete(remove_suite))
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
    let agents = state.app().list_agents(&page).await?;
    Ok(Json(CatalogList { entries: all_listed(agents).await?, next_after: None }))
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
struct PlaybookQuery {
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
    get, path = "/api/catalog/playbook/content", tag = "catalog", params(PlaybookQuery),
    responses((status = 200, body = PlaybookContent))
)]
async fn playbook_content(
    State(state): State<AppState>,
    InQuery(wanted): InQuery<PlaybookQuery>,
) -> Result<Json<PlaybookContent>, ApiError> {
    let entry = state.app().catalog_entry(&choice_of(wanted)?).await?;
    Ok(Json(PlaybookContent {
        catalog_id: entry.catalog_id.to_string(),
        path: entry.path,
        version: entry.version,
        content: entry.content,
    }))
}

/// Saves a playbook's text as the next version of its path, if it is valid.
#[utoipa::path(
    put, path = "/api/catalog/playbook/content", tag = "catalog", params(PlaybookQuery),
    request_body = SaveRequest, responses((status = 200, body = RegisteredPlaybook))
)]
async fn save_content(
    State(state): State<AppState>,
    InQuery(wanted): InQuery<PlaybookQuery>,
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
        (Some(path), _) => Some(EntryPath::Named(path)),
        (None, Some(id)) => {
            let playbook_id = Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned));
            let wanted = PlaybookQuery { playbook_id, ..PlaybookQuery::default() };
            Some(EntryPath::OfEntry(choice_of(wanted)?))
        }
        (None, None) => None,
    };
    Ok(Json(saved(state.app().save(&content, expected).await?)))
}

/// Returns the entry that a query selects.
fn choice_of(wanted: PlaybookQuery) -> Result<EntryChoice, ApiError> {
    let version = version_of(wanted.version.as_ref())?;
    let id = wanted.playbook_id.as_deref().and_then(|text| text.parse::<i64>().ok());
    match (id, wanted.path.or(wanted.playbook_id)) {
        (Some(id), _) => Ok(EntryChoice::Id(CatalogId(id))),
        (None, Some(path)) => Ok(EntryChoice::Path { path, version }),
        (None, None) => Err(ApiError::invalid("no-playbook", "name a `path` or a `playbook_id`")),
    }
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
    errors: Vec<String>,
    /// Warnings for the author.
    warnings: Vec<String>,
    /// The same errors and warnings as objects.
    #[schema(value_type = Vec<Object>)]
    diagnostics: Value,
}

/// Checks a playbook without storing it.
#[utoipa::path(
    post, path = "/api/catalog/playbooks/validate", tag = "catalog", request_body = CheckRequest,
    responses((status = 200, body = CheckAnswer))
)]
async fn check_playbook(Body(request): Body<CheckRequest>) -> Json<CheckAnswer> {
    let checked = check_document(&decoded(&request.content));
    let valid = checked.is_ok();
    let problems = checked.unwrap_or_else(|problems| problems);
    Json(CheckAnswer {
        valid,
        errors: texts_of(&problems, Severity::Error),
        warnings: texts_of(&problems, Severity::Warning),
        diagnostics: json!(problems),
    })
}

/// Shows the tokens of a text for highlighting, and its errors and warnings, without storing it.
#[utoipa::path(
    post, path = "/api/catalog/playbooks/analyze", tag = "catalog", request_body = AnalyzeRequest,
    responses(
        (status = 200, body = DocumentAnalysis),
        (status = 413, description = "the text is longer than 512 KB"),
    )
)]
async fn analyze_playbook(
    Body(request): Body<AnalyzeRequest>,
) -> Result<Json<DocumentAnalysis>, ApiError> {
    Ok(Json(analyze_document(&request.content)?))
}

/// Lists the keys, words and steps that fit at a place of a text.
#[utoipa::path(
    post, path = "/api/catalog/playbooks/complete", tag = "catalog",
    request_body = CompleteRequest,
    responses(
        (status = 200, body = DocumentCompletions),
        (status = 413, description = "the text is longer than 512 KB"),
    )
)]
async fn complete_playbook(
    Body(request): Body<CompleteRequest>,
) -> Result<Json<DocumentCompletions>, ApiError> {
    Ok(Json(complete_document(&request.content, request.offset)?))
}

impl From<DocumentTooLong> for ApiError {
    fn from(error: DocumentTooLong) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", error.to_string())
    }
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
    get, path = "/api/playbook-tests/suites/{id}", tag = "catalog",
    params(("id" = String, Path, description = "With its slashes")),
    responses((status = 200, body = Object))
)]
pub(super) async fn show_suite(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Json<Value>, ApiError> {
    suite_of(&id, &state.app().suite(&id).await?)
}

/// Stores the tests of a playbook, replacing earlier ones; any JSON is accepted.
#[utoipa::path(
    put, path = "/api/playbook-tests/suites/{id}", tag = "catalog",
    params(("id" = String, Path, description = "With its slashes")),
    request_body = Object, responses((status = 200, body = Object))
)]
pub(super) async fn save_suite(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    Body(suite): Body<Value>,
) -> Result<Json<Value>, ApiError> {
    suite_of(&id, &state.app().put_suite(&id, suite.to_string().into_bytes()).await?)
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RemovedSuite {
    /// `deleted`
    status: &'static str,
    suite_id: String,
    file_path: String,
}

/// Deletes the stored tests of a playbook.
#[utoipa::path(
    delete, path = "/api/playbook-tests/suites/{id}", tag = "catalog",
    params(("id" = String, Path, description = "With its slashes")),
    responses((status = 200, body = RemovedSuite))
)]
pub(super) async fn remove_suite(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Json<RemovedSuite>, ApiError> {
    state.app().remove_suite(&id).await?;
    Ok(Json(RemovedSuite { status: "deleted", suite_id: id.clone(), file_path: id }))
}

/// Returns stored tests, with the fields that clients read added to those of a map.
fn suite_of(id: &str, stored: &Object) -> Result<Json<Value>, ApiError> {
    let mut suite: Value =
        serde_json::from_slice(&stored.body).map_err(|error| ApiError::internal(&error))?;
    if let Value::Object(fields) = &mut suite {
        for (key, value) in [
            ("suite_id", json!(id)),
            ("file_path", json!(id)),
            ("playbook_path", json!(id)),
            ("tests", json!([])),
            ("metadata", json!({})),
            ("updated_at", json!(stored.updated_at.to_string())),
        ] {
            fields.entry(key).or_insert(value);
        }
    }
    Ok(Json(suite))
}

impl From<ObjectError> for ApiError {
    fn from(error: ObjectError) -> Self {
        let detail = error.to_string();
        match error {
            ObjectError::KeyTooLong => Self::invalid("object-key", detail),
            ObjectError::SuiteName => Self::invalid("invalid-name", detail),
            ObjectError::SuiteTooLarge => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
            }
            ObjectError::UnknownSuite(_) => Self::not_found("unknown-suite", detail),
            ObjectError::Store(error) => error.into(),
        }
    }
}
