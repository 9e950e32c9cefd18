//! An event as clients see it.

use noetl_model::Payload;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// An event in the public API.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PublicEvent {
    pub event_id: i64,
    /// Position in its execution: 1, 2, 3, …
    pub seq: u64,
    pub event_type: String,
    pub node_id: Option<String>,
    pub node_name: Option<String>,
    /// Kind of the step's tool, on `command.issued`.
    pub node_type: Option<String>,
    pub status: String,
    pub created_at: String,
    pub context: Option<Value>,
    /// `{status, context}`, or `{status, reference}` if the value is stored by reference.
    pub result: Option<Value>,
    pub error: Option<String>,
    pub meta: Value,
}

/// Returns an inline payload's value, or a reference from which to fetch it.
pub fn value_or_reference(payload: &Payload) -> Value {
    match payload {
        Payload::Inline(value) => (**value).clone(),
        Payload::Ref(reference) => json!({
            "kind": "payload",
            "ref": format!("/api/payloads/{}", reference.digest),
            "bytes": reference.size,
        }),
    }
}
