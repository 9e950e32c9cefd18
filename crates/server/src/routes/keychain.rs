//! The keychain: secrets that workers store until they expire.

use std::time::Duration;

use axum::extract::State;
use axum::{Extension, Json};
use noetl_api::{AnyId, LeaseProof};
use noetl_app::{
    KeychainEntry, KeychainError, KeychainExpiry, KeychainName, KeychainPut, KeychainScope,
    LeaseVerification,
};
use noetl_model::{Permission, Timestamp};
use noetl_secrets::KeychainSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Admitted;
use crate::request::command_holder::{SentProof, without_proof};
use crate::request::extract::{Body, InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_keychain)).routes(routes!(
        show_secret,
        put_secret,
        remove_secret
    ))
}

/// Checks that the sender may read or change a secret: an administrator, or a worker that proves to hold
/// a command of the playbook. Where secrets of leases are optional, a worker without one may use what
/// the playbook names.
async fn check_use(
    state: &AppState,
    admitted: &Admitted,
    proof: Option<&LeaseProof>,
    name: &KeychainName,
) -> Result<(), ApiError> {
    if admitted.permits_everywhere(Permission::Administer) {
        return Ok(());
    }
    match (proof, state.app().lease_verification()) {
        (Some(proof), _) => state.app().check_holder(proof).await?,
        (None, LeaseVerification::Optional) => {}
        (None, LeaseVerification::Required) => return Err(without_proof()),
    }
    Ok(state.app().check_keychain_use(name, proof.map(|proof| proof.held)).await?)
}

/// Parses a scope; global if none is given.
fn scope_of(text: Option<&str>) -> Result<KeychainScope, ApiError> {
    match text.unwrap_or("global") {
        "local" => Ok(KeychainScope::Local),
        "shared" => Ok(KeychainScope::Shared),
        "global" => Ok(KeychainScope::Global),
        other => Err(ApiError::invalid(
            "unknown-scope",
            format!("`scope_type` is local, shared or global, not `{other}`"),
        )),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SecretQuery {
    #[param(value_type = Option<String>)]
    execution_id: Option<AnyId>,
    /// `local`, `shared` or `global`.
    scope_type: Option<String>,
}

impl SecretQuery {
    fn name(&self, catalog_id: AnyId, name: String) -> Result<KeychainName, ApiError> {
        let scope = scope_of(self.scope_type.as_deref())?;
        let execution = self.execution_id.map(Into::into);
        Ok(KeychainName { catalog_id: catalog_id.into(), name, scope, execution })
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct SecretShown {
    /// `found`, `expired` or `not_found`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_renew: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_count: Option<u64>,
}

impl SecretShown {
    fn of(status: &'static str, entry: &KeychainEntry, data: Option<Value>) -> Self {
        Self {
            status,
            data,
            expires_at: Some(entry.expires_at.to_string()),
            auto_renew: Some(entry.auto_renew),
            access_count: Some(entry.access_count),
        }
    }
}

/// Shows a secret, unless it has expired.
#[utoipa::path(
    get, path = "/api/keychain/{catalog_id}/{name}", tag = "secrets",
    params(("catalog_id" = String, Path), ("name" = String, Path), SecretQuery),
    responses((status = 200, body = SecretShown))
)]
async fn show_secret(
    State(state): State<AppState>,
    Extension(admitted): Extension<Admitted>,
    SentProof(proof): SentProof,
    InPath((catalog_id, name)): InPath<(AnyId, String)>,
    InQuery(query): InQuery<SecretQuery>,
) -> Result<Json<SecretShown>, ApiError> {
    let name = query.name(catalog_id, name)?;
    check_use(&state, &admitted, proof.as_ref(), &name).await?;
    Ok(Json(match state.app().keychain_secret(&name).await? {
        Some(KeychainSecret::Found { entry, data }) => SecretShown::of("found", &entry, Some(data)),
        Some(KeychainSecret::Expired(entry)) => SecretShown::of("expired", &entry, None),
        None => SecretShown {
            status: "not_found",
            data: None,
            expires_at: None,
            auto_renew: None,
            access_count: None,
        },
    }))
}

#[derive(Deserialize, ToSchema)]
struct SecretPut {
    #[schema(value_type = Object)]
    data: Value,
    #[serde(default)]
    scope_type: Option<String>,
    #[serde(default)]
    execution_id: Option<AnyId>,
    /// Expiry of the secret; alternatively `expires_in` in seconds. One hour if neither is set.
    #[serde(default)]
    expires_at: Option<String>,
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    auto_renew: bool,
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    renew_config: Option<Value>,
}

#[derive(Debug, Serialize, ToSchema)]
struct SecretKept {
    status: &'static str,
    cache_key: String,
    expires_at: String,
}

/// Stores a secret until it expires.
#[utoipa::path(
    post, path = "/api/keychain/{catalog_id}/{name}", tag = "secrets",
    params(("catalog_id" = String, Path), ("name" = String, Path)), request_body = SecretPut,
    responses((status = 200, body = SecretKept))
)]
async fn put_secret(
    State(state): State<AppState>,
    Extension(admitted): Extension<Admitted>,
    SentProof(proof): SentProof,
    InPath((catalog_id, name)): InPath<(AnyId, String)>,
    Body(put): Body<SecretPut>,
) -> Result<Json<SecretKept>, ApiError> {
    let name = KeychainName {
        catalog_id: catalog_id.into(),
        name,
        scope: scope_of(put.scope_type.as_deref())?,
        execution: put.execution_id.map(Into::into),
    };
    check_use(&state, &admitted, proof.as_ref(), &name).await?;
    let expiry = expiry_of(put.expires_at.as_deref(), put.expires_in)?;
    let SecretPut { data, auto_renew, renew_config, .. } = put;
    let cache_key = name.cache_key();
    let put = KeychainPut { name, data, expiry, auto_renew, renew_config };
    let expires_at = state.app().put_keychain_secret(put).await?;
    Ok(Json(SecretKept { status: "success", cache_key, expires_at: expires_at.to_string() }))
}

/// Returns the expiry of a secret: a time, or a number of seconds.
fn expiry_of(at: Option<&str>, seconds: Option<u64>) -> Result<KeychainExpiry, ApiError> {
    match (at, seconds) {
        (Some(at), _) => at
            .parse::<Timestamp>()
            .map(KeychainExpiry::At)
            .map_err(|error| ApiError::invalid("invalid-time", format!("`expires_at`: {error}"))),
        (None, Some(seconds)) => Ok(KeychainExpiry::In(Duration::from_secs(seconds))),
        (None, None) => Ok(KeychainExpiry::Default),
    }
}

impl From<KeychainError> for ApiError {
    fn from(error: KeychainError) -> Self {
        match error {
            KeychainError::NameTooLong => Self::invalid("secret-name", error.to_string()),
            KeychainError::Vault(error) => error.into(),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct SecretRemoved {
    /// `deleted` or `not_found`.
    status: &'static str,
    cache_key: String,
}

/// Deletes a secret.
#[utoipa::path(
    delete, path = "/api/keychain/{catalog_id}/{name}", tag = "secrets",
    params(("catalog_id" = String, Path), ("name" = String, Path), SecretQuery),
    responses((status = 200, body = SecretRemoved))
)]
async fn remove_secret(
    State(state): State<AppState>,
    Extension(admitted): Extension<Admitted>,
    SentProof(proof): SentProof,
    InPath((catalog_id, name)): InPath<(AnyId, String)>,
    InQuery(query): InQuery<SecretQuery>,
) -> Result<Json<SecretRemoved>, ApiError> {
    let name = query.name(catalog_id, name)?;
    check_use(&state, &admitted, proof.as_ref(), &name).await?;
    let was_there = state.app().remove_keychain_secret(&name).await?;
    let status = if was_there { "deleted" } else { "not_found" };
    Ok(Json(SecretRemoved { status, cache_key: name.cache_key() }))
}

#[derive(Debug, Serialize, ToSchema)]
struct KeychainPage {
    catalog_id: String,
    entries: Vec<KeychainItem>,
}

#[derive(Debug, Serialize, ToSchema)]
struct KeychainItem {
    keychain_name: String,
    scope_type: String,
    execution_id: Option<String>,
    expires_at: String,
    expired: bool,
    access_count: u64,
    accessed_at: Option<String>,
    created_at: String,
}

/// Lists the keychain of a playbook version, without the secrets.
#[utoipa::path(
    get, path = "/api/keychain/catalog/{catalog_id}", tag = "secrets",
    params(("catalog_id" = String, Path)), responses((status = 200, body = KeychainPage))
)]
async fn list_keychain(
    State(state): State<AppState>,
    InPath(catalog_id): InPath<AnyId>,
) -> Result<Json<KeychainPage>, ApiError> {
    let now = state.now();
    let entries = state.app().list_keychain(catalog_id.into()).await?.into_iter();
    let entries = entries.map(|entry| KeychainItem {
        keychain_name: entry.name,
        scope_type: entry.scope,
        execution_id: entry.execution.map(|it| it.to_string()),
        expires_at: entry.expires_at.to_string(),
        expired: entry.expires_at <= now,
        access_count: entry.access_count,
        accessed_at: entry.accessed_at.map(|at| at.to_string()),
        created_at: entry.created_at.to_string(),
    });
    Ok(Json(KeychainPage { catalog_id: catalog_id.0.to_string(), entries: entries.collect() }))
}
