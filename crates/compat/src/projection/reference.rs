//! References to results stored outside the event, and the summaries they contain.

use std::borrow::Cow;
use std::sync::Arc;

use noetl_model::PayloadRef;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// The location of a result stored outside the event.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// A payload of this system. Long logs have one per command, so only digest and size are held.
    Kept(PayloadRef),
    /// A reference of another program, as received but with sorted keys.
    Told(Arc<Value>),
}

impl Reference {
    /// Returns a reference of another program.
    pub fn told(value: &Value) -> Self {
        Self::Told(Arc::new(sorted(value)))
    }

    /// Returns the reference in the shape of the API response, with sorted keys.
    pub fn value(&self) -> Cow<'_, Value> {
        match self {
            Self::Kept(PayloadRef { digest, size }) => Cow::Owned(json!({
                "bytes": size,
                "kind": "payload",
                "media_type": "application/json",
                "ref": format!("/api/payloads/{digest}"),
                "sha256": digest,
            })),
            Self::Told(value) => Cow::Borrowed(value),
        }
    }

    /// Returns the summary of the referenced value.
    pub fn summary(&self) -> PayloadSummary {
        summary_of(&self.value())
    }

    /// Returns the payload reference serialized as `value`; `None` if it is another program's.
    fn kept(value: &Value) -> Option<Self> {
        let digest = Deserialize::deserialize(value.get("sha256")?).ok()?;
        let kept = Self::Kept(PayloadRef { digest, size: value.get("bytes")?.as_u64()? });
        (*kept.value() == *value).then_some(kept)
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self::kept(&value).unwrap_or_else(|| Self::told(&value)))
    }
}

/// The properties of a referenced value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PayloadSummary {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_digest: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_count: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "ref")]
    pub locator: Option<Value>,
}

/// Reads the summary from a reference: top-level fields first, else the fields of `rows_ref`.
fn summary_of(reference: &Value) -> PayloadSummary {
    let rows = reference.get("rows_ref");
    let there = |value: Option<&Value>| value.filter(|it| !it.is_null()).cloned();
    let find = |key: &str| {
        let of_rows = |part: &str| there(rows.and_then(|rows| rows.get(part)?.get(key)));
        there(reference.get(key)).or_else(|| of_rows("meta")).or_else(|| of_rows("ipc"))
    };
    let locator = there(reference.get("ref"))
        .or_else(|| there(rows.and_then(|rows| rows.get("ref"))))
        .or_else(|| there(reference.get("uri")));
    PayloadSummary {
        sha256: find("sha256").or_else(|| there(reference.get("digest"))),
        schema_digest: find("schema_digest"),
        row_count: find("row_count"),
        media_type: find("media_type"),
        locator,
    }
}

/// Returns a value with the keys of all objects sorted.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(name, _)| name.as_str());
            let members = members.into_iter().map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}
