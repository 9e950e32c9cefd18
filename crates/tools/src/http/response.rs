//! From a response to the output of an `http` tool, and to the error it may mean.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use noetl_model::{ErrorKind, ToolError};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use serde_json::{Map, Value, json};

use crate::keys::Keys;
use crate::outgoing::{Response, Saved};

/// What the body is to be taken for: `response_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// JSON if it is, else text if it is, else binary.
    Auto,
    Json,
    Text,
    Binary,
}

impl Wanted {
    pub(super) fn read(keys: Keys<'_>) -> Result<Self, ToolError> {
        match keys.text(&["response_type"])?.as_deref() {
            None | Some("auto") => Ok(Wanted::Auto),
            Some("json") => Ok(Wanted::Json),
            Some("text") => Ok(Wanted::Text),
            Some("binary") => Ok(Wanted::Binary),
            Some(other) => Err(keys.error(format!(
                "`response_type` is `{other}`; known are json, text, binary and auto"
            ))),
        }
    }
}

/// `{status_code, headers, body, data}`, where `data` is the body once more.
pub(super) fn output(response: &Response, wanted: Wanted) -> Result<Value, serde_json::Error> {
    let content_type = header(&response.headers, CONTENT_TYPE);
    // The body of an error is whatever it is; that it is no JSON is not the problem.
    let wanted = match wanted {
        Wanted::Json if !response.status.is_success() => Wanted::Auto,
        wanted => wanted,
    };
    let body = body(&response.body, content_type.unwrap_or_default(), wanted)?;
    Ok(json!({
        "status_code": response.status.as_u16(),
        "headers": headers(&response.headers),
        "body": body,
        "data": body,
    }))
}

/// The same with the place of the body instead of it.
pub(super) fn saved_output(response: &Response, saved: &Saved) -> Value {
    let content_type = header(&response.headers, CONTENT_TYPE);
    let body = json!({ "file": saved.path, "size": saved.size, "content_type": content_type });
    json!({
        "status_code": response.status.as_u16(),
        "headers": headers(&response.headers),
        "body": body,
        "data": body,
    })
}

fn body(bytes: &[u8], content_type: &str, wanted: Wanted) -> Result<Value, serde_json::Error> {
    let text = || Value::String(String::from_utf8_lossy(bytes).into_owned());
    let binary = || json!({"base64": STANDARD.encode(bytes), "content_type": content_type, "size": bytes.len()});
    match wanted {
        Wanted::Text => Ok(text()),
        Wanted::Binary => Ok(binary()),
        Wanted::Json if bytes.is_empty() => Ok(Value::Null),
        Wanted::Json => serde_json::from_slice(bytes),
        Wanted::Auto if bytes.is_empty() && content_type.contains("json") => Ok(Value::Null),
        Wanted::Auto if is_binary(content_type) => Ok(binary()),
        Wanted::Auto => Ok(match (serde_json::from_slice(bytes), std::str::from_utf8(bytes)) {
            (Ok(value), _) => value,
            (Err(_), Err(_)) if !content_type.contains("charset") => binary(),
            (Err(_), _) => text(),
        }),
    }
}

fn is_binary(content_type: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "audio/",
        "image/",
        "video/",
        "application/gzip",
        "application/octet-stream",
        "application/pdf",
        "application/zip",
    ];
    let content_type = content_type.to_ascii_lowercase();
    !content_type.starts_with("image/svg")
        && PREFIXES.iter().any(|prefix| content_type.starts_with(prefix))
}

/// By lower-case name; one that is repeated is joined with commas.
fn headers(headers: &HeaderMap) -> Map<String, Value> {
    headers
        .keys()
        .map(|name| {
            let values: Vec<_> = headers
                .get_all(name)
                .iter()
                .map(|value| String::from_utf8_lossy(value.as_bytes()))
                .collect();
            (name.to_string(), Value::String(values.join(", ")))
        })
        .collect()
}

fn header(headers: &HeaderMap, name: reqwest::header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The error that a status means, if it means one.
pub(super) fn error(name: &str, response: &Response) -> Option<ToolError> {
    let status = response.status;
    if status.is_success() {
        return None;
    }
    let kind = match status {
        StatusCode::TOO_MANY_REQUESTS => ErrorKind::RateLimit,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorKind::Auth,
        StatusCode::NOT_FOUND => ErrorKind::NotFound,
        status if status.is_server_error() => ErrorKind::ServerError,
        _ => ErrorKind::ClientError,
    };
    let mut error = ToolError::new(kind, format!("HTTP {} from {name}", status.as_u16()));
    error.status = Some(status.as_u16());
    error.code = Some(status.as_u16().to_string());
    error.details = header(&response.headers, RETRY_AFTER)
        .map(|retry_after| Box::new(json!({"retry_after": retry_after})));
    Some(error)
}

pub(super) fn not_as_wanted(name: &str, reason: &serde_json::Error) -> ToolError {
    ToolError::new(ErrorKind::Parse, format!("{name} answers with what is not JSON: {reason}"))
}
