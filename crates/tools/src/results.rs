//! Results that are kept elsewhere: how a reference is written, and where its value comes from.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::{Digest, ErrorKind, ToolError};
use serde_json::Value;

/// The beginning of a reference by content.
const BY_CONTENT: &str = "noetl://payload/";
const SCHEME: &str = "noetl://";

/// Where a result is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// Content is its own address.
    Content(Digest),
    /// By a name that the control plane knows: `noetl://execution/…`.
    Name(String),
}

impl Reference {
    /// Reads `_ref` of a result, or the text in it.
    pub fn read(value: &Value) -> Option<Self> {
        let text = match value {
            Value::String(text) => text.as_str(),
            Value::Object(map) => map.get("ref").or_else(|| map.get("_ref"))?.as_str()?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
        };
        match text.strip_prefix(BY_CONTENT) {
            Some(digest) => digest.parse().ok().map(Reference::Content),
            None => text.starts_with(SCHEME).then(|| Reference::Name(text.to_owned())),
        }
    }
}

/// Finds results by reference.
#[async_trait]
pub trait Results: Send + Sync {
    /// The value; a `not_found` error if there is none any more.
    async fn fetch(&self, reference: &Reference) -> Result<Arc<Value>, ToolError>;
}

/// A worker without a control plane has no results but its own.
pub struct NoResults;

#[async_trait]
impl Results for NoResults {
    async fn fetch(&self, _reference: &Reference) -> Result<Arc<Value>, ToolError> {
        Err(ToolError::new(
            ErrorKind::StorageAccess,
            "this worker has nowhere to fetch results from",
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_is_a_text_or_a_map_with_one() {
        let digest = Digest::of(b"x");
        let text = format!("noetl://payload/{digest}");
        let content = Some(Reference::Content(digest));
        assert_eq!(Reference::read(&json!(text)), content);
        assert_eq!(Reference::read(&json!({"kind": "result_ref", "ref": text})), content);
        assert_eq!(Reference::read(&json!({"_ref": text})), content);
        let name = "noetl://execution/7/result/fetch/9";
        assert_eq!(Reference::read(&json!(name)), Some(Reference::Name(name.into())));
        for wrong in
            [json!(null), json!("x"), json!(7), json!({"a": 1}), json!("noetl://payload/x")]
        {
            assert_eq!(Reference::read(&wrong), None, "{wrong}");
        }
    }
}
