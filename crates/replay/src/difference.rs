//! The difference between two JSON documents, as a list of changes and as JSON Patch (RFC 6902).
//!
//! Invariant: the patch operations, applied in order to the first document, give the second. Lists
//! are compared as a whole, because a moved item would show as a change of everything after it.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// The changes that turn one document into another.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Difference {
    pub changes: Vec<StateChange>,
    pub patch: Vec<Operation>,
}

/// One operation of a JSON Patch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Operation {
    Add { path: String, value: Value },
    Remove { path: String },
    Replace { path: String, value: Value },
}

/// One change, with the values before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StateChange {
    /// The path to the value, joined by dots.
    pub place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

impl fmt::Display for StateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, before, after } = self;
        match (before, after) {
            (None, Some(after)) => write!(f, "+ {place}: {after}"),
            (Some(before), None) => write!(f, "- {place}: {before}"),
            (Some(before), Some(after)) => write!(f, "~ {place}: {before} -> {after}"),
            (None, None) => write!(f, "  {place}"),
        }
    }
}

/// Compares two documents.
pub fn difference(before: &Value, after: &Value) -> Difference {
    let mut found = Difference::default();
    compare(&mut found, &ValuePath::default(), before, after);
    found
}

/// A path in a document, as a JSON pointer and joined by dots.
#[derive(Debug, Clone, Default)]
struct ValuePath {
    pointer: String,
    words: String,
}

impl ValuePath {
    fn below(&self, name: &str) -> Self {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        let dot = if self.words.is_empty() { "" } else { "." };
        Self {
            pointer: format!("{}/{escaped}", self.pointer),
            words: format!("{}{dot}{name}", self.words),
        }
    }
}

fn compare(found: &mut Difference, place: &ValuePath, before: &Value, after: &Value) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => members(found, place, before, after),
        (before, after) if before == after => {}
        (before, after) => found.put(place, Some(before), Some(after)),
    }
}

fn members(
    found: &mut Difference,
    place: &ValuePath,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) {
    for (name, old) in before {
        match after.get(name) {
            Some(new) => compare(found, &place.below(name), old, new),
            None => found.put(&place.below(name), Some(old), None),
        }
    }
    for (name, new) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        found.put(&place.below(name), None, Some(new));
    }
}

impl Difference {
    fn put(&mut self, place: &ValuePath, before: Option<&Value>, after: Option<&Value>) {
        let path = place.pointer.clone();
        self.patch.push(match (before, after.cloned()) {
            (None, Some(value)) => Operation::Add { path, value },
            (Some(_), Some(value)) => Operation::Replace { path, value },
            (Some(_) | None, None) => Operation::Remove { path },
        });
        let (before, after) = (before.cloned(), after.cloned());
        self.changes.push(StateChange { place: place.words.clone(), before, after });
    }
}
