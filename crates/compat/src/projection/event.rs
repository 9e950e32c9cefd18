//! An event in the public format, with the fields that a fold reads.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Reference;

/// An event in the public format.
#[derive(Debug, Clone, Default)]
pub struct ReplayEvent<'a> {
    pub event_id: i64,
    pub event_type: Cow<'a, str>,
    pub node_name: Option<Cow<'a, str>>,
    /// Empty if the event has no status.
    pub status: Cow<'a, str>,
    pub meta: Cow<'a, Map<String, Value>>,
    /// The reference to a result that is stored outside the event.
    pub reference: Option<Reference>,
    pub worker_id: Option<Cow<'a, str>>,
    pub stage_id: Option<Cow<'a, str>>,
    pub frame_id: Option<Cow<'a, str>>,
    pub command_id: Option<Cow<'a, str>>,
    pub aggregate: Option<Aggregate<'a>>,
}

/// The entity that an event is about.
#[derive(Debug, Clone)]
pub struct Aggregate<'a> {
    pub kind: Cow<'a, str>,
    pub id: Cow<'a, str>,
}

impl Aggregate<'_> {
    /// Returns the id without the `<kind>/` prefix; `None` if the entity is of another kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Option<&str> {
        if self.kind != kind {
            return None;
        }
        let unprefixed = self.id.strip_prefix(kind).and_then(|rest| rest.strip_prefix('/'));
        Some(unprefixed.unwrap_or(&self.id))
    }
}

impl ReplayEvent<'_> {
    /// Returns a metadata value as text; `null` counts as a value.
    pub(crate) fn meta_text(&self, key: &str) -> Option<Cow<'_, str>> {
        self.meta.get(key).map(text_of)
    }

    /// Returns an integer of the metadata.
    pub(crate) fn meta_integer(&self, key: &str) -> Option<i64> {
        self.meta.get(key).and_then(Value::as_i64)
    }

    /// Returns the status, or `otherwise` if the event has none.
    pub(crate) fn status_or<'b>(&'b self, otherwise: &'b str) -> &'b str {
        if self.status.is_empty() { otherwise } else { &self.status }
    }
}

/// Returns a value as text: strings unquoted, anything else as JSON.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}
