//! Sealed values: secrets of a workload, which are stored encrypted and opened for a worker only.
//!
//! A sealed value is a map with the one key [`SEALED`], so that templates can pass it on whole. It
//! names the execution and the input it was sealed for; the encryption is bound to both.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ExecutionId;

/// The key of the map that stands for a sealed value.
pub const SEALED: &str = "noetl:sealed";

/// A sealed value, as it stands in a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedMark<'a> {
    /// The execution that the value was sealed for.
    pub execution: ExecutionId,
    /// The input that the value was given for.
    pub name: &'a str,
    /// The encrypted value; without `:`.
    pub envelope: &'a str,
}

impl<'a> SealedMark<'a> {
    /// Returns the mark that a value is; `None` if it is an ordinary value.
    pub fn of(value: &'a Value) -> Option<Self> {
        let map = value.as_object().filter(|map| map.len() == 1)?;
        let mut parts = map.get(SEALED)?.as_str()?.splitn(3, ':');
        let (execution, envelope, name) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { execution: ExecutionId(execution.parse().ok()?), name, envelope })
    }

    /// Returns the value that stands for the mark.
    pub fn to_value(self) -> Value {
        let Self { execution, name, envelope } = self;
        let text = format!("{}:{envelope}:{name}", execution.0);
        Value::Object(Map::from_iter([(SEALED.to_owned(), Value::String(text))]))
    }
}

/// True if a value is, or contains, a sealed value.
pub fn holds_sealed(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Array(items) => items.iter().any(holds_sealed),
        Value::Object(fields) => {
            SealedMark::of(value).is_some() || fields.values().any(holds_sealed)
        }
    }
}

/// Replaces every sealed value in a value; stops at the first error.
pub fn replace_sealed<E>(
    value: &mut Value,
    replace: &mut dyn FnMut(SealedMark<'_>) -> Result<Value, E>,
) -> Result<(), E> {
    if let Some(mark) = SealedMark::of(value) {
        *value = replace(mark)?;
        return Ok(());
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        Value::Array(items) => items.iter_mut().try_for_each(|item| replace_sealed(item, replace)),
        Value::Object(fields) => {
            fields.values_mut().try_for_each(|field| replace_sealed(field, replace))
        }
    }
}

/// The opened values of a lease, by their envelopes. `Debug` does not print them.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpenedSecrets(pub BTreeMap<String, OpenedSecret>);

/// The clear text of a sealed value, or the reason why it cannot be opened.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenedSecret {
    Value(Value),
    Unreadable(String),
}

impl OpenedSecrets {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for OpenedSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenedSecrets({})", self.0.len())
    }
}

impl fmt::Debug for OpenedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenedSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mark_survives_its_written_form() {
        let mark = SealedMark { execution: ExecutionId(7), name: "a:b", envelope: "k1.x.y" };
        assert_eq!(SealedMark::of(&mark.to_value()), Some(mark));
        for other in [json!({}), json!({ SEALED: 1 }), json!({ SEALED: "x:y:z" }), json!("x")] {
            assert_eq!(SealedMark::of(&other), None, "{other}");
        }
    }

    #[test]
    fn marks_are_found_and_replaced_at_any_depth() {
        let mark = SealedMark { execution: ExecutionId(7), name: "a", envelope: "e" }.to_value();
        let mut value = json!({ "x": [1, { "y": mark }], "z": "text" });
        assert!(holds_sealed(&value));
        let replaced: Result<(), ()> = replace_sealed(&mut value, &mut |it| Ok(json!(it.name)));
        assert_eq!((replaced, value), (Ok(()), json!({ "x": [1, { "y": "a" }], "z": "text" })));
    }

    #[test]
    fn opened_secrets_are_not_printed() {
        let opened = OpenedSecret::Value(json!("hunter2"));
        let all = OpenedSecrets(BTreeMap::from([("e".to_owned(), opened)]));
        assert!(!format!("{all:?} {:?}", all.0).contains("hunter2"));
    }
}
