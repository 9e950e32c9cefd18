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
    /// `reported` for a fact that another program projected onto an execution of the engine; left
    /// out for an event of the log.
    #[serde(skip_serializing_if = "EventSource::is_log")]
    pub source: EventSource,
}

/// The source of an event of an execution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
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
