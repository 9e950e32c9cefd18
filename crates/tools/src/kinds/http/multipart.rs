//! Encodes `multipart/form-data` bodies of fields and files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use noetl_model::{Digest, ToolError};
use serde_json::{Map, Value};

use super::request::read_file;
use crate::run::keys::{ToolConfig, scalar_text};

const BINARY: &str = "application/octet-stream";

/// An encoded body with its content type.
pub(super) struct Multipart {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: String,
}

struct MultipartPart {
    name: String,
    filename: Option<String>,
    content_type: Option<String>,
    content: Vec<u8>,
}

/// Encodes a map: each key is a part, a list gives several parts of the same name, null is skipped.
pub(super) async fn encode(
    keys: ToolConfig<'_>,
    fields: &Map<String, Value>,
) -> Result<Multipart, ToolError> {
    let mut parts = Vec::new();
    for (name, value) in fields {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        for item in items.iter().filter(|item| !item.is_null()) {
            parts.push(MultipartPart::read(keys, name, item).await?);
        }
    }
    // A digest of the content is the same in every attempt, and does not occur in the content.
    let all: Vec<u8> = parts.iter().flat_map(|part| &part.content).copied().collect();
    let boundary = format!("noetl-{}", Digest::of(&all));
    let mut bytes = Vec::with_capacity(all.len() + 256 * parts.len());
    for part in &parts {
        bytes.extend_from_slice(part.head(&boundary).as_bytes());
        bytes.extend_from_slice(&part.content);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(Multipart { bytes, content_type: format!("multipart/form-data; boundary={boundary}") })
}

impl MultipartPart {
    /// Reads one part: a scalar is a field; a map is a file, given by `file`, `content` or
    /// `base64`.
    async fn read(keys: ToolConfig<'_>, name: &str, value: &Value) -> Result<Self, ToolError> {
        let wrong = || {
            let expected = "a text, or a map with `file`, `content` or `base64`";
            keys.wrong(&format!("multipart.{name}"), expected, value)
        };
        let Value::Object(map) = value else {
            let content = scalar_text(value).ok_or_else(wrong)?.into_bytes();
            return Ok(Self { name: name.to_owned(), filename: None, content_type: None, content });
        };
        let part = keys.below("multipart", map);
        let (content, usual) = match part.find(&["file", "content", "base64"]) {
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
        let filename = part.text(&["filename"])?.or(usual);
        let unsaid = || filename.as_ref().map(|_| BINARY.to_owned());
        let content_type = part.text(&["content_type"])?.or_else(unsaid);
        if content_type.as_deref().is_some_and(|it| it.contains(['\r', '\n'])) {
            return Err(keys.error(format!("`multipart.{name}.content_type` is no type")));
        }
        Ok(Self { name: name.to_owned(), filename, content_type, content })
    }

    fn head(&self, boundary: &str) -> String {
        let mut head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{}\"",
            quoted(&self.name)
        );
        if let Some(filename) = &self.filename {
            head.push_str(&format!("; filename=\"{}\"", quoted(filename)));
        }
        if let Some(content_type) = &self.content_type {
            head.push_str(&format!("\r\ncontent-type: {content_type}"));
        }
        head.push_str("\r\n\r\n");
        head
    }
}

/// Escapes a name as browsers do, so that it cannot end its quotes.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
