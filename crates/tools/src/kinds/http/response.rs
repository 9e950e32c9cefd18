//! Converts a response to the output of the `http` tool, and an error status to an error.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use noetl_model::{ErrorKind, ToolError, Unmeasured};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use serde_json::{Map, Value, json};

use crate::protect::outgoing::{HttpResponse, Saved};
use crate::run::keys::ToolConfig;
use crate::run::memory::{CallMemory, too_large};

/// The expected type of the body: `response_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseType {
    /// JSON if the body is valid JSON, otherwise text, otherwise binary.
    Auto,
    Json,
    Text,
    Binary,
}

impl ResponseType {
    pub(super) fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        match keys.text(&["response_type"])?.as_deref() {
            None | Some("auto") => Ok(ResponseType::Auto),
            Some("json") => Ok(ResponseType::Json),
            Some("text") => Ok(ResponseType::Text),
            Some("binary") => Ok(ResponseType::Binary),
            Some(other) => Err(keys.error(format!(
                "`response_type` is `{other}`; known are json, text, binary and auto"
            ))),
        }
    }
}

/// The number of copies of the body in the output: `body` and `data`.
const BODIES: usize = 2;

/// Returns `{status_code, headers, body, data}`, where `data` equals `body`.
pub(super) async fn output(
    response: HttpResponse,
    wanted: ResponseType,
    memory: &CallMemory,
) -> Result<Value, Unmeasured> {
    let HttpResponse { status, headers, body } = response;
    let content_type = header(&headers, CONTENT_TYPE).unwrap_or_default();
    // The body of an error response need not be JSON.
    let wanted = match wanted {
        ResponseType::Json if !status.is_success() => ResponseType::Auto,
        wanted => wanted,
    };
    let body = read_body(body, content_type, wanted, memory).await?;
    let mut output = Map::new();
    output.insert("status_code".to_owned(), status.as_u16().into());
    output.insert("headers".to_owned(), Value::Object(told_headers(&headers)));
    output.insert("body".to_owned(), body.clone());
    output.insert("data".to_owned(), body);
    Ok(Value::Object(output))
}

/// Returns the output of a saved response, with the file in place of the body.
pub(super) fn saved_output(response: &HttpResponse, saved: &Saved) -> Value {
    let content_type = header(&response.headers, CONTENT_TYPE);
    let body = json!({ "file": saved.path, "size": saved.size, "content_type": content_type });
    json!({
        "status_code": response.status.as_u16(),
        "headers": told_headers(&response.headers),
        "body": body,
        "data": body,
    })
}

async fn read_body(
    bytes: Vec<u8>,
    content_type: &str,
    wanted: ResponseType,
    memory: &CallMemory,
) -> Result<Value, Unmeasured> {
    match wanted {
        ResponseType::Text => text(bytes, memory).await,
        ResponseType::Binary => binary(&bytes, content_type, memory).await,
        ResponseType::Json if bytes.is_empty() => Ok(Value::Null),
        ResponseType::Json => memory.json(&bytes, BODIES).await,
        ResponseType::Auto if bytes.is_empty() && content_type.contains("json") => Ok(Value::Null),
        ResponseType::Auto if is_binary(content_type) => binary(&bytes, content_type, memory).await,
        ResponseType::Auto => match memory.json(&bytes, BODIES).await {
            Ok(value) => Ok(value),
            Err(limit @ Unmeasured::TooLarge(_)) => Err(limit),
            Err(Unmeasured::NotJson(_)) => {
                let is_text = content_type.contains("charset") || str::from_utf8(&bytes).is_ok();
                match is_text {
                    true => text(bytes, memory).await,
                    false => binary(&bytes, content_type, memory).await,
                }
            }
        },
    }
}

/// Converts bytes to text; invalid UTF-8 is replaced.
async fn text(bytes: Vec<u8>, memory: &CallMemory) -> Result<Value, Unmeasured> {
    // Reserves memory for the second copy; the first was reserved when the body was read.
    memory.reserve(bytes.len()).await.map_err(Unmeasured::TooLarge)?;
    let text = String::from_utf8(bytes);
    Ok(Value::String(text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into())))
}

async fn binary(
    bytes: &[u8],
    content_type: &str,
    memory: &CallMemory,
) -> Result<Value, Unmeasured> {
    let length = bytes.len().div_ceil(3) * 4;
    memory.reserve(BODIES * length).await.map_err(Unmeasured::TooLarge)?;
    let size = bytes.len();
    Ok(json!({"base64": STANDARD.encode(bytes), "content_type": content_type, "size": size}))
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

/// Returns the headers by lower-case name; repeated headers are joined with commas.
fn told_headers(headers: &HeaderMap) -> Map<String, Value> {
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

/// Returns the error for an error status; `None` for a success.
pub(super) fn error(name: &str, response: &HttpResponse) -> Option<ToolError> {
    let status = response.status;
    let kind = ErrorKind::of_http_status(status.as_u16())?;
    let mut error = ToolError::new(kind, format!("HTTP {} from {name}", status.as_u16()));
    error.status = Some(status.as_u16());
    error.code = Some(status.as_u16().to_string());
    error.details = header(&response.headers, RETRY_AFTER)
        .map(|retry_after| Box::new(json!({"retry_after": retry_after})));
    Some(error)
}

/// Returns the error for a body that cannot be parsed or is too large.
pub(super) fn not_as_wanted(name: &str, reason: &Unmeasured) -> ToolError {
    match reason {
        Unmeasured::TooLarge(limit) => too_large(&format!("the body of {name}"), limit),
        Unmeasured::NotJson(reason) => {
            let message = format!("{name} answers with what is not JSON: {reason}");
            ToolError::new(ErrorKind::Parse, message)
        }
    }
}
