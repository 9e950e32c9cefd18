//! An event as clients see it.

use noetl_model::Payload;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::AnyId;

/// An event in the public API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PublicEvent {
    pub event_id: AnyId,
    /// Position in its execution: 1, 2, 3, …
    pub seq: u64,
    pub event_type: String,
    pub node_id: Option<String>,
    pub node_name: Option<String>,
    /// Kind of the step's tool, on `command.issued`.
    pub node_type: Option<String>,
    pub status: String,
    pub created_at: String,
    /// The same as `created_at`, under the name that existing clients read.
    pub timestamp: String,
    /// Milliseconds that the command or step took, on the event that ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    pub context: Option<Value>,
    /// `{status, context}`, or `{status, reference}` if the value is stored by reference.
    pub result: Option<Value>,
    pub error: Option<String>,
    pub meta: Value,
    /// True for an entry that existing clients expect and the log does not store: it follows from
    /// the event before it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub derived: bool,
    /// `reported` for a fact that another program projected onto an execution of the engine; left
    /// out for an event of the log.
    #[serde(default, skip_serializing_if = "EventSource::is_log")]
    pub source: EventSource,
}

/// The source of an event of an execution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventSource {
    /// The log of the execution.
    #[default]
    Log,
    /// Another program; the state of the execution does not depend on the event.
    Reported,
}

impl EventSource {
    fn is_log(&self) -> bool {
        *self == Self::Log
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(flag: &bool) -> bool {
    !flag
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
