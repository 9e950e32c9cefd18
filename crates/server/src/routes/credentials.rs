//! Credentials: stored encrypted, shown without their secrets, and delivered to workers only.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_api::wire::WORKER_KIND;
use noetl_secrets::{
    Access, DeliveryError, Identifier, NewCredential, Operation, SealedEnvelope, seal_for,
};
use noetl_store::{Credential, CredentialFilter, RuntimeKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, InPath, InQuery};
use crate::lookup::{Found, NotFound};
use crate::state::AppState;

/// Maximum length of a name, type or tag, in bytes.
const WORD_MAX: usize = 500;
/// Maximum number of tags of a credential.
const TAGS_MAX: usize = 100;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(put_credential, list_credentials))
        .routes(routes!(show_credential, remove_credential))
        .routes(routes!(deliver_credential))
}

#[derive(Deserialize, ToSchema)]
struct CredentialPut {
    name: String,
    /// Kind of the credential, such as `postgres` or `bearer`.
    #[serde(rename = "type")]
    kind: String,
    /// The secret fields.
    #[schema(value_type = Object)]
    data: Value,
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    meta: Option<Value>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    description: Option<String>,
}

/// A credential; `data` only if requested.
#[derive(Serialize, ToSchema)]
pub(crate) struct CredentialShown {
    id: String,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    meta: Option<Value>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
}

impl From<Credential> for CredentialShown {
    fn from(credential: Credential) -> Self {
        Self {
            id: credential.id.to_string(),
            name: credential.name,
            kind: credential.kind,
            meta: credential.meta,
            tags: credential.tags,
            description: credential.description,
            data: None,
            created_at: Some(credential.created_at.to_string()),
            updated_at: Some(credential.updated_at.to_string()),
        }
    }
}

impl From<Found> for CredentialShown {
    fn from(found: Found) -> Self {
        match found {
            Found::Stored { credential, data } => {
                Self { data: Some(as_map(data)), ..Self::from(*credential) }
            }
            Found::Keychain { alias, data } => Self {
                id: "0".to_owned(),
                description: Some(format!("`{alias}` of the playbook's keychain")),
                name: alias,
                kind: "keychain".to_owned(),
                meta: None,
                tags: Vec::new(),
                data: Some(as_map(data)),
                created_at: None,
                updated_at: None,
            },
        }
    }
}

/// Wraps a bare value in an object, because workers read fields.
fn as_map(data: Value) -> Value {
    if data.is_object() { data } else { json!({ "value": data }) }
}

/// Stores a credential (replaces one with the same name).
#[utoipa::path(
    post, path = "/api/credentials", tag = "secrets", request_body = CredentialPut,
    responses((status = 200, body = CredentialShown))
)]
async fn put_credential(
    State(state): State<AppState>,
    Body(put): Body<CredentialPut>,
) -> Result<Json<CredentialShown>, ApiError> {
    let tags = put.tags.unwrap_or_default();
    let words = [("name", &put.name), ("type", &put.kind)];
    for (field, word) in words {
        if word.trim().is_empty() || word.len() > WORD_MAX {
            let detail = format!("`{field}` has 1 to {WORD_MAX} bytes");
            return Err(ApiError::invalid("credential-name", detail));
        }
    }
    if tags.len() > TAGS_MAX || tags.iter().any(|tag| tag.len() > WORD_MAX) {
        let detail = format!("a credential has at most {TAGS_MAX} tags of {WORD_MAX} bytes");
        return Err(ApiError::invalid("credential-tags", detail));
    }
    let new = NewCredential {
        name: put.name,
        kind: put.kind,
        data: put.data,
        meta: put.meta,
        tags,
        description: put.description,
    };
    let kept = state.vault().put(new, &Access::default()).await?;
    Ok(Json(kept.into()))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    r#type: Option<String>,
    /// A part of the name or the description.
    q: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct CredentialPage {
    items: Vec<CredentialShown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    filter: Option<Value>,
}

/// Lists credentials, newest first, without their secrets.
#[utoipa::path(
    get, path = "/api/credentials", tag = "secrets", params(ListQuery),
    responses((status = 200, body = CredentialPage))
)]
async fn list_credentials(
    State(state): State<AppState>,
    InQuery(query): InQuery<ListQuery>,
) -> Result<Json<CredentialPage>, ApiError> {
    let filter = match (&query.r#type, &query.q) {
        (None, None) => None,
        (Some(kind), None) => Some(json!({ "type": kind })),
        (None, Some(text)) => Some(json!({ "q": text })),
        (Some(kind), Some(text)) => Some(json!({ "type": kind, "q": text })),
    };
    let wanted = CredentialFilter { kind: query.r#type, text: query.q };
    let items = state.vault().list(&wanted).await?.into_iter().map(Into::into).collect();
    Ok(Json(CredentialPage { items, filter }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ShowQuery {
    /// True to include the secret fields.
    #[serde(default)]
    include_data: bool,
    /// The execution that uses the credential; the keychain of its playbook is searched too.
    #[param(value_type = Option<String>)]
    execution_id: Option<AnyId>,
    #[param(value_type = Option<String>)]
    parent_execution_id: Option<AnyId>,
}

/// Shows a credential by id or name; the secret fields only if requested.
#[utoipa::path(
    get, path = "/api/credentials/{identifier}", tag = "secrets",
    params(("identifier" = String, Path), ShowQuery),
    responses((status = 200, body = CredentialShown))
)]
async fn show_credential(
    State(state): State<AppState>,
    InPath(identifier): InPath<String>,
    InQuery(query): InQuery<ShowQuery>,
) -> Result<Json<CredentialShown>, ApiError> {
    if !query.include_data {
        let found = state.vault().find(Identifier(&identifier)).await?;
        return Ok(Json(found.ok_or_else(|| unknown(&identifier))?.into()));
    }
    let access = Access {
        worker: None,
        execution: query.execution_id.map(Into::into),
        parent_execution: query.parent_execution_id.map(Into::into),
    };
    Ok(Json(looked_up(&state, &identifier, Operation::Read, &access).await?.into()))
}

/// Resolves a secret and records metrics of the lookup.
async fn looked_up(
    state: &AppState,
    alias: &str,
    operation: Operation,
    access: &Access,
) -> Result<Found, NotFound> {
    let begun = Instant::now();
    let found = state.lookup().find(alias, operation, access).await;
    let provider = match &found {
        Ok(Found::Stored { .. }) => "stored",
        Ok(Found::Keychain { .. }) => "keychain",
        Err(_) => "none",
    };
    state.meters().secret(provider, found.is_ok(), begun.elapsed());
    found
}

#[derive(Debug, Serialize, ToSchema)]
struct CredentialRemoved {
    message: String,
    id: String,
}

/// Deletes a credential.
#[utoipa::path(
    delete, path = "/api/credentials/{identifier}", tag = "secrets",
    params(("identifier" = String, Path)), responses((status = 200, body = CredentialRemoved))
)]
async fn remove_credential(
    State(state): State<AppState>,
    InPath(identifier): InPath<String>,
) -> Result<Json<CredentialRemoved>, ApiError> {
    let removed = state.vault().remove(Identifier(&identifier), &Access::default()).await?;
    let removed = removed.ok_or_else(|| unknown(&identifier))?;
    let message = format!("the credential {} is gone", removed.name);
    Ok(Json(CredentialRemoved { message, id: removed.id.to_string() }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SealedQuery {
    /// The worker to encrypt for; it must have registered a public key.
    worker_id: String,
    #[param(value_type = Option<String>)]
    execution_id: Option<AnyId>,
    #[param(value_type = Option<String>)]
    parent_execution_id: Option<AnyId>,
}

/// Delivers a credential encrypted for one worker.
#[utoipa::path(
    get, path = "/api/credentials/{identifier}/sealed", tag = "secrets",
    params(("identifier" = String, Path), SealedQuery), responses((status = 200, body = Object))
)]
async fn deliver_credential(
    State(state): State<AppState>,
    InPath(identifier): InPath<String>,
    InQuery(query): InQuery<SealedQuery>,
) -> Result<Json<SealedEnvelope>, ApiError> {
    let key = RuntimeKey { kind: WORKER_KIND.to_owned(), name: query.worker_id.clone() };
    let runtime = state.records().runtime(&key).await?;
    let public_key = runtime
        .and_then(|it| it.runtime?.get("worker_public_key")?.as_str().map(str::to_owned))
        .ok_or_else(|| {
            let detail = format!("worker {} has registered no key", query.worker_id);
            ApiError::new(StatusCode::BAD_REQUEST, "no-worker-key", detail)
        })?;
    let access = Access {
        worker: Some(query.worker_id),
        execution: query.execution_id.map(Into::into),
        parent_execution: query.parent_execution_id.map(Into::into),
    };
    let found = looked_up(&state, &identifier, Operation::ReadSealed, &access).await?;
    let plain = serde_json::to_vec(&CredentialShown::from(found)).expect("a credential is JSON");
    Ok(Json(seal_for(&public_key, &zeroize::Zeroizing::new(plain))?))
}

fn unknown(identifier: &str) -> ApiError {
    ApiError::not_found("unknown-credential", format!("there is no credential {identifier}"))
}

impl From<NotFound> for ApiError {
    fn from(error: NotFound) -> Self {
        match error {
            NotFound::Unknown(name) => unknown(&name),
            NotFound::Unsupported { .. } | NotFound::Entry { .. } => {
                Self::invalid("keychain-entry", error.to_string())
            }
            NotFound::Vault(error) => error.into(),
            NotFound::Load(error) => error.into(),
            NotFound::Payload(error) => error.into(),
        }
    }
}

impl From<DeliveryError> for ApiError {
    fn from(error: DeliveryError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "worker-key", error.to_string())
    }
}
