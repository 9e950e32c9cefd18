//! References to results that are stored outside the event log, and the trait that fetches them.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::{Digest, ErrorKind, ToolError};
use serde_json::Value;

use crate::run::call::Call;

/// The prefix of a reference by content.
const BY_CONTENT: &str = "noetl://payload/";
const SCHEME: &str = "noetl://";

/// The location of a stored result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultReference {
    /// The digest of the content.
    Content(Digest),
    /// A name known to the control plane: `noetl://execution/…`.
    Name(String),
}

impl ResultReference {
    /// Parses a reference: a text, or a map with `ref` or `_ref`.
    pub fn read(value: &Value) -> Option<Self> {
        let text = match value {
            Value::String(text) => text.as_str(),
            Value::Object(map) => map.get("ref").or_else(|| map.get("_ref"))?.as_str()?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
        };
        match text.strip_prefix(BY_CONTENT) {
            Some(digest) => digest.parse().ok().map(ResultReference::Content),
            None => text.starts_with(SCHEME).then(|| ResultReference::Name(text.to_owned())),
        }
    }
}

/// Fetches results by reference.
#[async_trait]
pub trait ResultSource: Send + Sync {
    /// Fetches a result for a call. Fails with `not_found` if it does not exist.
    async fn fetch(
        &self,
        call: &Call,
        reference: &ResultReference,
    ) -> Result<Arc<Value>, ToolError>;
}

/// The results of a worker without a control plane: every fetch fails.
pub struct NoResults;

#[async_trait]
impl ResultSource for NoResults {
    async fn fetch(
        &self,
        _call: &Call,
        _reference: &ResultReference,
    ) -> Result<Arc<Value>, ToolError> {
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
        let content = Some(ResultReference::Content(digest));
        assert_eq!(ResultReference::read(&json!(text)), content);
        assert_eq!(ResultReference::read(&json!({"kind": "result_ref", "ref": text})), content);
        assert_eq!(ResultReference::read(&json!({"_ref": text})), content);
        let name = "noetl://execution/7/result/fetch/9";
        assert_eq!(ResultReference::read(&json!(name)), Some(ResultReference::Name(name.into())));
        for wrong in
            [json!(null), json!("x"), json!(7), json!({"a": 1}), json!("noetl://payload/x")]
        {
            assert_eq!(ResultReference::read(&wrong), None, "{wrong}");
        }
    }
}
