//! An event as the public API words it, as far as a fold looks at it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::Reference;

/// One event in public words.
#[derive(Debug, Clone, Default)]
pub struct Envelope<'a> {
    pub event_id: i64,
    pub event_type: Cow<'a, str>,
    pub node_name: Option<Cow<'a, str>>,
    /// Empty if it has none.
    pub status: Cow<'a, str>,
    pub meta: Cow<'a, Map<String, Value>>,
    /// Where its result is kept, if not in the event.
    pub reference: Option<Reference>,
    pub worker_id: Option<Cow<'a, str>>,
    pub stage_id: Option<Cow<'a, str>>,
    pub frame_id: Option<Cow<'a, str>>,
    pub command_id: Option<Cow<'a, str>>,
    pub aggregate: Option<Aggregate<'a>>,
}

/// The thing an event says it is about.
#[derive(Debug, Clone)]
pub struct Aggregate<'a> {
    pub kind: Cow<'a, str>,
    pub id: Cow<'a, str>,
}

impl Aggregate<'_> {
    /// The id without the prefix that repeats the kind, if it is of this kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Option<&str> {
        if self.kind != kind {
            return None;
        }
        let unprefixed = self.id.strip_prefix(kind).and_then(|rest| rest.strip_prefix('/'));
        Some(unprefixed.unwrap_or(&self.id))
    }
}

impl Envelope<'_> {
    /// A value of the meta data as text, whatever it is; `null` is a value.
    pub(crate) fn meta_text(&self, key: &str) -> Option<Cow<'_, str>> {
        self.meta.get(key).map(text_of)
    }

    /// An integer of the meta data.
    pub(crate) fn meta_integer(&self, key: &str) -> Option<i64> {
        self.meta.get(key).and_then(Value::as_i64)
    }

    /// The status, or what stands for it if there is none.
    pub(crate) fn status_or<'b>(&'b self, otherwise: &'b str) -> &'b str {
        if self.status.is_empty() { otherwise } else { &self.status }
    }
}

/// A value as text: text as it is, anything else as JSON.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}
