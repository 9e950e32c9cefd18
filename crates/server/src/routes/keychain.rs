//! The keychain: secrets that workers store until they expire.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_model::{ExecutionId, Timestamp};
use noetl_secrets::{KeychainSecret, NewKeychainSecret};
use noetl_store::KeychainEntry;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, InPath, InQuery};
use crate::state::AppState;

/// Default time to live of a secret.
const HOLDS: Duration = Duration::from_secs(60 * 60);
/// Maximum time to live of a secret.
const HOLDS_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Maximum length of a name, in bytes.
const NAME_MAX: usize = 500;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_keychain)).routes(routes!(
        show_secret,
        put_secret,
        remove_secret
    ))
}

/// The scope of a keychain secret; part of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeychainScope {
    Local,
    Shared,
    #[default]
    Global,
}

impl KeychainScope {
    fn parse(text: Option<&str>) -> Result<Self, ApiError> {
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

    fn as_str(self) -> &'static str {
        match self {
            KeychainScope::Local => "local",
            KeychainScope::Shared => "shared",
            KeychainScope::Global => "global",
        }
    }

    /// Returns the key that identifies a secret within its scope.
    pub(crate) fn cache_key(
        self,
        name: &str,
        catalog_id: i64,
        execution: Option<ExecutionId>,
    ) -> String {
        match (self, execution) {
            (KeychainScope::Local, Some(execution)) => format!("{name}:{catalog_id}:{execution}"),
            (KeychainScope::Local, None) => format!("{name}:{catalog_id}:local"),
            (KeychainScope::Shared, Some(execution)) => {
                format!("{name}:{catalog_id}:shared:{execution}")
            }
            (KeychainScope::Shared, None) => format!("{name}:{catalog_id}:shared"),
            (KeychainScope::Global, _) => format!("{name}:{catalog_id}:global"),
        }
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
    fn cache_key(&self, catalog_id: AnyId, name: &str) -> Result<String, ApiError> {
        let scope = KeychainScope::parse(self.scope_type.as_deref())?;
        Ok(scope.cache_key(name, catalog_id.0, self.execution_id.map(Into::into)))
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
    InPath((catalog_id, name)): InPath<(AnyId, String)>,
    InQuery(query): InQuery<SecretQuery>,
) -> Result<Json<SecretShown>, ApiError> {
    let key = query.cache_key(catalog_id, &name)?;
    Ok(Json(match state.vault().keychain(&key).await? {
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
    InPath((catalog_id, name)): InPath<(AnyId, String)>,
    Body(put): Body<SecretPut>,
) -> Result<Json<SecretKept>, ApiError> {
    if name.len() > NAME_MAX {
        let detail = format!("a name has at most {NAME_MAX} bytes");
        return Err(ApiError::invalid("secret-name", detail));
    }
    let scope = KeychainScope::parse(put.scope_type.as_deref())?;
    let execution = put.execution_id.map(Into::into);
    let expires_at = ends(state.now(), put.expires_at.as_deref(), put.expires_in)?;
    let cache_key = scope.cache_key(&name, catalog_id.0, execution);
    let secret = NewKeychainSecret {
        cache_key: cache_key.clone(),
        name,
        catalog_id: catalog_id.into(),
        scope: scope.as_str().to_owned(),
        execution,
        data: put.data,
        expires_at,
        auto_renew: put.auto_renew,
        renew_config: put.renew_config,
    };
    state.vault().put_keychain(secret).await?;
    Ok(Json(SecretKept { status: "success", cache_key, expires_at: expires_at.to_string() }))
}

/// Returns the expiry of a secret.
fn ends(now: Timestamp, at: Option<&str>, seconds: Option<u64>) -> Result<Timestamp, ApiError> {
    let end = match (at, seconds) {
        (Some(at), _) => at
            .parse::<Timestamp>()
            .map_err(|error| ApiError::invalid("invalid-time", format!("`expires_at`: {error}")))?,
        (None, Some(seconds)) => now.after(Duration::from_secs(seconds)),
        (None, None) => now.after(HOLDS),
    };
    Ok(end.min(now.after(HOLDS_MAX)))
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
    InPath((catalog_id, name)): InPath<(AnyId, String)>,
    InQuery(query): InQuery<SecretQuery>,
) -> Result<Json<SecretRemoved>, ApiError> {
    let cache_key = query.cache_key(catalog_id, &name)?;
    let was_there = state.vault().remove_keychain(&cache_key).await?;
    let status = if was_there { "deleted" } else { "not_found" };
    Ok(Json(SecretRemoved { status, cache_key }))
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
    let entries = state.vault().keychain_of(catalog_id.into()).await?.into_iter();
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
