//! Builds a request from the configuration of the `http` tool.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use noetl_model::ToolError;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use url::Url;
use url::form_urlencoded;

use super::auth::AuthHeader;
use super::multipart;
use crate::protect::outgoing::{
    BODY_BYTES_MAX, Certificates, ConnectionSettings, HttpRequest, Redirects,
};
use crate::run::call::Call;
use crate::run::keys::{ToolConfig, scalar_text};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const ATTEMPT: HeaderName = HeaderName::from_static("noetl-attempt");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// The body to send, with the content type to declare if the headers have none.
struct RequestBody {
    bytes: Vec<u8>,
    content_type: Option<HeaderValue>,
}

pub(super) async fn build(
    keys: ToolConfig<'_>,
    header: AuthHeader,
    call: &Call,
) -> Result<HttpRequest, ToolError> {
    let text = keys.required_text(&["url", "endpoint"])?;
    let mut url: Url = text
        .trim()
        .parse()
        .map_err(|error| keys.error(format!("`url` is not a URL: {error}: \"{text}\"")))?;
    let method = method(keys)?;
    let mut headers = headers(keys)?;
    headers.extend(header.header(keys)?.into_iter().map(|(name, value)| (Some(name), value)));
    if let Some(params) = keys.map(&["params", "query_params"])? {
        append_query(keys, "params", &mut url, params)?;
    }
    let body = body(keys, &method, &mut url).await?;
    if let Some(content_type) = body.as_ref().and_then(|body| body.content_type.clone()) {
        headers.entry(CONTENT_TYPE).or_insert(content_type);
    }
    if !method.is_safe()
        && let Ok(key) = HeaderValue::from_str(&call.idempotency_key)
    {
        headers.entry(IDEMPOTENCY_KEY).or_insert(key);
        headers.entry(ATTEMPT).or_insert(HeaderValue::from(call.key_attempt));
    }
    let follow = keys.flag(&["follow_redirects"])?.unwrap_or(true);
    Ok(HttpRequest {
        method,
        url,
        headers,
        body: body.map(|body| body.bytes),
        redirects: if follow { Redirects::Follow } else { Redirects::Keep },
        connection: connection(keys)?,
    })
}

fn method(keys: ToolConfig<'_>) -> Result<Method, ToolError> {
    let Some(text) = keys.text(&["method"])? else { return Ok(Method::GET) };
    let upper = text.trim().to_ascii_uppercase();
    match upper.as_str() {
        "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS" => {
            Ok(Method::from_bytes(upper.as_bytes()).expect("a known method"))
        }
        _ => Err(keys.error(format!(
            "`method` is `{text}`; known are GET, POST, PUT, PATCH, DELETE, HEAD and OPTIONS"
        ))),
    }
}

fn headers(keys: ToolConfig<'_>) -> Result<HeaderMap, ToolError> {
    keys.texts(&["headers"])?
        .into_iter()
        .map(|(name, value)| {
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| keys.error(format!("`headers.{name}` is not the name of a header")))?;
            let value = HeaderValue::from_str(&value).map_err(|_| {
                keys.error(format!("`headers.{name}` holds characters that no header can carry"))
            })?;
            Ok((header, value))
        })
        .collect()
}

/// Adds parameters to the query: null is skipped, a list is repeated, other values become text.
fn append_query(
    keys: ToolConfig<'_>,
    key: &str,
    url: &mut Url,
    params: &Map<String, Value>,
) -> Result<(), ToolError> {
    let pairs = pairs(keys, key, params)?;
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    Ok(())
}

fn pairs(
    keys: ToolConfig<'_>,
    key: &str,
    params: &Map<String, Value>,
) -> Result<Vec<(String, String)>, ToolError> {
    let mut pairs = Vec::new();
    for (name, value) in params {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        for item in items.iter().filter(|item| !item.is_null()) {
            let text = scalar_text(item).ok_or_else(|| {
                keys.wrong(&format!("{key}.{name}"), "a text or a list of texts", item)
            })?;
            pairs.push((name.clone(), text));
        }
    }
    Ok(pairs)
}

/// The keys that may hold the body; the first one present is used.
const BODIES: &[&str] =
    &["json", "form", "multipart", "body", "body_base64", "body_file", "data", "payload"];

async fn body(
    keys: ToolConfig<'_>,
    method: &Method,
    url: &mut Url,
) -> Result<Option<RequestBody>, ToolError> {
    let json =
        |value: &Value| RequestBody { bytes: value.to_string().into(), content_type: Some(JSON) };
    let raw = |text: &str| RequestBody { bytes: text.into(), content_type: None };
    Ok(match keys.find(BODIES) {
        None => None,
        Some(("json", value)) => Some(json(value)),
        Some(("form", value)) => {
            let form = value.as_object().ok_or_else(|| keys.wrong("form", "a map", value))?;
            let encoded = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(pairs(keys, "form", form)?)
                .finish();
            Some(RequestBody { bytes: encoded.into(), content_type: Some(FORM) })
        }
        Some(("multipart", value)) => {
            let fields =
                value.as_object().ok_or_else(|| keys.wrong("multipart", "a map", value))?;
            let multipart::Multipart { bytes, content_type } =
                multipart::encode(keys, fields).await?;
            let content_type = HeaderValue::from_str(&content_type).expect("a boundary is ASCII");
            Some(RequestBody { bytes, content_type: Some(content_type) })
        }
        Some((key @ ("body_base64" | "body_file"), value)) => {
            let text = value.as_str().ok_or_else(|| keys.wrong(key, "a text", value))?;
            let bytes = if key == "body_file" {
                read_file(keys, text).await?
            } else {
                STANDARD.decode(text).map_err(|_| keys.error("`body_base64` is not base64"))?
            };
            Some(RequestBody { bytes, content_type: Some(BINARY) })
        }
        Some((key @ ("data" | "payload"), Value::Object(params))) if *method == Method::GET => {
            append_query(keys, key, url, params)?;
            None
        }
        Some((_, Value::String(text))) => Some(raw(text)),
        Some((_, value)) => Some(json(value)),
    })
}

/// Reads a file of the worker, to be sent as a body. Fails if it is too large.
pub(super) async fn read_file(keys: ToolConfig<'_>, path: &str) -> Result<Vec<u8>, ToolError> {
    let cannot =
        |error: std::io::Error| keys.error(format!("cannot read the file {path}: {error}"));
    let too_large = || keys.error(format!("the file {path} has more than {BODY_BYTES_MAX} bytes"));
    let file = File::open(keys.file(path)?).await.map_err(cannot)?;
    if BODY_BYTES_MAX as u64 <= keys.opened(Path::new(path), &file).await?.len() {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(BODY_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).await.map_err(cannot)?;
    if BODY_BYTES_MAX < bytes.len() { Err(too_large()) } else { Ok(bytes) }
}

/// Reads the connection settings. The timeout of the whole call is enforced by the registry.
fn connection(keys: ToolConfig<'_>) -> Result<ConnectionSettings, ToolError> {
    let mut connection = ConnectionSettings::default();
    if keys.flag(&["verify_ssl", "verify"])? == Some(false) {
        connection.certificates = Certificates::Ignore;
    }
    if let Some(Value::Object(timeout)) = keys.value(&["timeout"]) {
        let timeout = ToolConfig::new("http: timeout", timeout);
        if let Some(connect) = timeout.duration(&["connect"])? {
            connection.connect_timeout = connect;
        }
        connection.read_timeout = timeout.duration(&["read"])?;
    }
    Ok(connection)
}
