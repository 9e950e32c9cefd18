//! References to results that are kept elsewhere, and what they say about them.

use std::borrow::Cow;
use std::sync::Arc;

use noetl_model::PayloadRef;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// Where a result is that is kept elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// Among the large values of this system. A long log has one for every command, so it is held as
    /// little as it is.
    Kept(PayloadRef),
    /// Wherever another program says, in its words, with their keys in order.
    Told(Arc<Value>),
}

impl Reference {
    /// What another program says.
    pub fn told(value: &Value) -> Self {
        Self::Told(Arc::new(sorted(value)))
    }

    /// In the shape in which it is answered, with keys in order.
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

    /// What it says about its value.
    pub fn summary(&self) -> PayloadSummary {
        summary_of(&self.value())
    }

    /// The value of ours that is worded like this, if it is one.
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

/// What a reference says about the value it stands for.
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

/// Reads what a reference says about its value: at the top, else about its rows.
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

/// A value with the keys of all its objects in order.
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
