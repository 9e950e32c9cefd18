//! Encodes `multipart/form-data` bodies of fields and files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::TryStreamExt as _;
use noetl_model::ToolError;
use reqwest::multipart::{Form, Part};
use serde_json::{Map, Value};

use super::request::read_file;
use crate::run::keys::{ToolConfig, scalar_text};

const BINARY: &str = "application/octet-stream";

/// An encoded body with its content type.
pub(super) struct Multipart {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: String,
}

/// Encodes a map: each key is a part, a list gives several parts of the same name, null is skipped.
pub(super) async fn encode(
    keys: ToolConfig<'_>,
    fields: &Map<String, Value>,
) -> Result<Multipart, ToolError> {
    let mut form = Form::new().percent_encode_noop();
    for (name, value) in fields {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        for item in items.iter().filter(|item| !item.is_null()) {
            form = form.part(quoted(name), part(keys, name, item).await?);
        }
    }
    let content_type = format!("multipart/form-data; boundary={}", form.boundary());
    // The bytes are collected, because a redirect may send them again.
    let chunks: Vec<_> = form
        .into_stream()
        .try_collect()
        .await
        .map_err(|error| keys.error(format!("cannot encode `multipart`: {error}")))?;
    Ok(Multipart { bytes: chunks.concat(), content_type })
}

/// Reads one part: a scalar is a field; a map is a file, given by `file`, `content` or `base64`.
async fn part(keys: ToolConfig<'_>, name: &str, value: &Value) -> Result<Part, ToolError> {
    let wrong = || {
        let expected = "a text, or a map with `file`, `content` or `base64`";
        keys.wrong(&format!("multipart.{name}"), expected, value)
    };
    let Value::Object(map) = value else {
        return Ok(Part::text(scalar_text(value).ok_or_else(wrong)?));
    };
    let settings = keys.below("multipart", map);
    let (content, usual) = match settings.find(&["file", "content", "base64"]) {
        Some(("file", Value::String(path))) => {
            let filename = path.rsplit('/').next().map(str::to_owned);
            (read_file(keys, path).await?, filename)
        }
        Some(("base64", Value::String(text))) => {
            let content = STANDARD.decode(text);
            let not = || keys.error(format!("`multipart.{name}.base64` is not base64"));
            (content.map_err(|_| not())?, Some(name.to_owned()))
        }
        Some(("content", Value::String(text))) => (text.clone().into_bytes(), None),
        Some(("content", json)) => (json.to_string().into_bytes(), None),
        Some(_) | None => return Err(wrong()),
    };
    let filename = settings.text(&["filename"])?.or(usual);
    let unsaid = || filename.as_ref().map(|_| BINARY.to_owned());
    let content_type = settings.text(&["content_type"])?.or_else(unsaid);
    let mut part = Part::bytes(content);
    if let Some(filename) = filename {
        part = part.file_name(quoted(&filename));
    }
    if let Some(content_type) = content_type {
        part = part.mime_str(&content_type).map_err(|_| {
            keys.error(format!("`multipart.{name}.content_type` is not a media type"))
        })?;
    }
    Ok(part)
}

/// Escapes a name as browsers do, so that it cannot end its quotes.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
