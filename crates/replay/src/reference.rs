//! References to results that are kept elsewhere, and what they say about them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
pub fn summary_of(reference: &Value) -> PayloadSummary {
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
