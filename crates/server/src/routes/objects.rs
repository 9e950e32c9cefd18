//! Objects and plugins: bytes stored under a key.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderName, HeaderValue, header};
use noetl_app::{Object, ObjectName};
use noetl_model::PAYLOAD_MAX;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::results::ttl;
use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum size of an object, in bytes.
pub(super) const OBJECT_BYTES_MAX: usize = PAYLOAD_MAX;
/// Routes that take the bytes of an object or a plugin.
pub(super) const OBJECT: &str = "/api/internal/objects/{*key}";
pub(super) const PLUGIN: &str = "/api/internal/plugins/{*path}";

type Headed = ([(HeaderName, HeaderValue); 2], Vec<u8>);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(put_plugin, get_plugin))
        .routes(routes!(put_object, get_object))
        .layer(DefaultBodyLimit::max(OBJECT_BYTES_MAX))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PluginQuery {
    version: i32,
    media_type: Option<String>,
    /// The expected SHA-256.
    digest: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct PluginStored {
    path: String,
    version: i32,
    digest: String,
    bytes: usize,
}

/// Stores a version of a plugin (replaces an existing one).
#[utoipa::path(
    post, path = "/api/internal/plugins/{*path}", tag = "records",
    params(("path" = String, Path), PluginQuery),
    request_body(content = Vec<u8>, content_type = "application/wasm"),
    responses((status = 200, body = PluginStored))
)]
async fn put_plugin(
    State(state): State<AppState>,
    InPath(path): InPath<String>,
    InQuery(query): InQuery<PluginQuery>,
    body: Bytes,
) -> Result<Json<PluginStored>, ApiError> {
    let media_type = query.media_type.unwrap_or_else(|| "application/wasm".to_owned());
    let name = ObjectName::Plugin { path: &path, version: query.version };
    let kept = put(&state, name, media_type, body, None).await?;
    let digest = kept.digest.to_string();
    Ok(Json(PluginStored { path, version: query.version, digest, bytes: kept.body.len() }))
}

/// Loads a version of a plugin.
#[utoipa::path(
    get, path = "/api/internal/plugins/{*path}", tag = "records",
    params(("path" = String, Path), PluginQuery),
    responses((status = 200, content_type = "application/wasm", body = Vec<u8>))
)]
async fn get_plugin(
    State(state): State<AppState>,
    InPath(path): InPath<String>,
    InQuery(query): InQuery<PluginQuery>,
) -> Result<Headed, ApiError> {
    let name = ObjectName::Plugin { path: &path, version: query.version };
    let found = state.app().object(name).await?.ok_or_else(|| {
        let detail = format!("there is no plugin {path} in version {}", query.version);
        ApiError::not_found("unknown-plugin", detail)
    })?;
    let digest = found.digest.to_string();
    if query.digest.is_some_and(|expected| !expected.eq_ignore_ascii_case(&digest)) {
        let detail = format!("version {} of {path} has the digest {digest}", query.version);
        return Err(ApiError::conflict("digest-differs", detail));
    }
    headed(found)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ObjectQuery {
    media_type: Option<String>,
    /// Time to live: seconds, or text such as `30m`, `2h`, `7d`.
    ttl: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ObjectStored {
    key: String,
    digest: String,
    bytes: usize,
}

/// Stores an object (replaces an existing one).
#[utoipa::path(
    put, path = "/api/internal/objects/{*key}", tag = "records",
    params(("key" = String, Path), ObjectQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = ObjectStored))
)]
async fn put_object(
    State(state): State<AppState>,
    InPath(key): InPath<String>,
    InQuery(query): InQuery<ObjectQuery>,
    body: Bytes,
) -> Result<Json<ObjectStored>, ApiError> {
    let media_type = query.media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    let name = ObjectName::Object(&key);
    let kept = put(&state, name, media_type, body, query.ttl.map(Value::String)).await?;
    Ok(Json(ObjectStored { key, digest: kept.digest.to_string(), bytes: kept.body.len() }))
}

/// Loads an object.
#[utoipa::path(
    get, path = "/api/internal/objects/{*key}", tag = "records",
    params(("key" = String, Path)),
    responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>))
)]
async fn get_object(
    State(state): State<AppState>,
    InPath(key): InPath<String>,
) -> Result<Headed, ApiError> {
    let found = state.app().object(ObjectName::Object(&key)).await?;
    let unknown = || ApiError::not_found("unknown-object", format!("there is no object {key}"));
    headed(found.ok_or_else(unknown)?)
}

async fn put(
    state: &AppState,
    name: ObjectName<'_>,
    media_type: String,
    body: Bytes,
    said_ttl: Option<Value>,
) -> Result<Object, ApiError> {
    if HeaderValue::from_str(&media_type).is_err() {
        return Err(ApiError::invalid("media-type", "`media_type` cannot be sent as a header"));
    }
    let ttl = said_ttl.as_ref().and_then(ttl);
    Ok(state.app().put_object(name, media_type, body.into(), ttl).await?)
}

/// Returns an object's bytes with its media type and digest as headers.
fn headed(object: Object) -> Result<Headed, ApiError> {
    let value =
        |text: &str| HeaderValue::from_str(text).map_err(|error| ApiError::internal(&error));
    let media_type = value(&object.media_type)?;
    let tag = value(&format!("\"{}\"", object.digest))?;
    Ok(([(header::CONTENT_TYPE, media_type), (header::ETAG, tag)], object.body))
}
