//! Labels of executions: keys with values, to find executions by.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ExecutionStatus, IndexEntry, IndexKind};

/// The maximum number of labels of an execution.
pub const LABELS_MAX: usize = 32;
/// The maximum length of a label's key, in bytes.
pub const LABEL_KEY_MAX: usize = 63;
/// The maximum length of a label's value, in bytes.
pub const LABEL_VALUE_MAX: usize = 200;

/// The reason why labels are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    #[error(
        "`{0}` is not the key of a label: a key has 1 to {LABEL_KEY_MAX} letters, digits, `-`, `_`, \
         `.` and `/`, and begins with a letter or digit"
    )]
    Key(String),
    #[error("label `{0}` has an empty value; leave it out or give it a value")]
    EmptyValue(String),
    #[error("the value of label `{key}` has {len} bytes; {LABEL_VALUE_MAX} are allowed")]
    LongValue { key: String, len: usize },
    #[error("the value of label `{0}` has a control character, such as a line break")]
    ControlCharacter(String),
    #[error("the value of label `{key}` is {what}; a text, a number or a boolean is needed")]
    NotScalar { key: String, what: &'static str },
    #[error("{0} labels; an execution has at most {LABELS_MAX}")]
    TooMany(usize),
    #[error("`{0}` is not a label; write it as `key:value`, such as `team:ops`")]
    NoSeparator(String),
}

/// One label of an execution, written `key:value`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label {
    key: String,
    value: String,
}

impl Label {
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Result<Self, LabelError> {
        let (key, value) = (key.into(), value.into());
        check_key(&key)?;
        if value.is_empty() {
            return Err(LabelError::EmptyValue(key));
        }
        if value.len() > LABEL_VALUE_MAX {
            return Err(LabelError::LongValue { key, len: value.len() });
        }
        if value.chars().any(char::is_control) {
            return Err(LabelError::ControlCharacter(key));
        }
        Ok(Self { key, value })
    }

    /// Returns a label from a JSON value; `None` if the value is null.
    pub fn from_json(key: &str, value: &Value) -> Result<Option<Self>, LabelError> {
        let text = match value {
            Value::Null => {
                check_key(key)?;
                return Ok(None);
            }
            Value::Bool(truth) => truth.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.trim().to_owned(),
            Value::Array(_) => return Err(not_scalar(key, "a list")),
            Value::Object(_) => return Err(not_scalar(key, "a map")),
        };
        Self::new(key, text).map(Some)
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the index entry of an execution that has this label and a status.
    pub fn index_entry(&self, status: ExecutionStatus) -> IndexEntry {
        IndexEntry::new(IndexKind::Label, index_key(self, status), None)
    }
}

/// Returns the index key of a property of executions at a status, so that the executions with both
/// are found without reading others.
pub(crate) fn index_key(property: &impl fmt::Display, status: ExecutionStatus) -> String {
    format!("{property} {status}")
}

fn not_scalar(key: &str, what: &'static str) -> LabelError {
    LabelError::NotScalar { key: key.to_owned(), what }
}

/// Checks the key of a label.
pub fn check_label_key(key: &str) -> Result<(), LabelError> {
    check_key(key)
}

fn check_key(key: &str) -> Result<(), LabelError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.', '/'].contains(&c);
    let begins = key.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && key.len() <= LABEL_KEY_MAX && key.chars().all(is_plain) {
        return Ok(());
    }
    Err(LabelError::Key(key.chars().take(LABEL_KEY_MAX).collect()))
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.key, self.value)
    }
}

/// Reads `key:value` or `key=value`; the first separator ends the key.
impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let separator = text.find([':', '=']);
        let separator = separator
            .ok_or_else(|| LabelError::NoSeparator(text.chars().take(LABEL_KEY_MAX).collect()))?;
        Self::new(text[..separator].trim(), text[separator + 1..].trim())
    }
}

impl TryFrom<String> for Label {
    type Error = LabelError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.to_string()
    }
}

/// The labels of an execution, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>", into = "BTreeMap<String, String>")]
pub struct Labels(BTreeMap<String, Label>);

impl Labels {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the labels, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = &Label> {
        self.0.values()
    }

    pub fn has(&self, label: &Label) -> bool {
        self.0.get(&label.key) == Some(label)
    }

    /// Adds labels; one that exists with the same key is replaced.
    pub fn with(&self, others: impl IntoIterator<Item = Label>) -> Result<Self, LabelError> {
        let mut labels = self.0.clone();
        labels.extend(others.into_iter().map(|label| (label.key.clone(), label)));
        match labels.len() {
            len if len > LABELS_MAX => Err(LabelError::TooMany(len)),
            _ => Ok(Self(labels)),
        }
    }
}

impl IntoIterator for Labels {
    type Item = Label;
    type IntoIter = std::collections::btree_map::IntoValues<String, Label>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_values()
    }
}

impl TryFrom<BTreeMap<String, Value>> for Labels {
    type Error = LabelError;

    fn try_from(values: BTreeMap<String, Value>) -> Result<Self, Self::Error> {
        let labels = values.iter().map(|(key, value)| Label::from_json(key, value));
        let labels: Vec<Option<Label>> = labels.collect::<Result<_, _>>()?;
        Labels::default().with(labels.into_iter().flatten())
    }
}

impl From<Labels> for BTreeMap<String, String> {
    fn from(labels: Labels) -> Self {
        labels.0.into_values().map(|label| (label.key, label.value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(labels: Value, expected: &str) {
        let found = match serde_json::from_value::<Labels>(labels) {
            Ok(labels) => serde_json::to_string(&labels).expect("labels are JSON"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn labels_have_scalar_values() {
        check(json!({"team": "ops", "n": 7, "on": true}), r#"{"n":"7","on":"true","team":"ops"}"#);
        check(json!({"team": " ops\n", "gone": null}), r#"{"team":"ops"}"#);
        check(
            json!({"team": ["ops"]}),
            "the value of label `team` is a list; a text, a number or a boolean is needed",
        );
        check(
            json!({"team": {}}),
            "the value of label `team` is a map; a text, a number or a boolean is needed",
        );
        check(
            json!({"team": ""}),
            "label `team` has an empty value; leave it out or give it a value",
        );
        check(
            json!({"team": "a\nb"}),
            "the value of label `team` has a control character, such as a line break",
        );
    }

    #[test]
    fn labels_are_bounded() {
        let many: BTreeMap<String, String> =
            (0..33).map(|n| (format!("k{n}"), "v".into())).collect();
        check(json!(many), "33 labels; an execution has at most 32");
        check(
            json!({"k": "x".repeat(201)}),
            "the value of label `k` has 201 bytes; 200 are allowed",
        );
        for key in ["", "-a", "a b", "a:b", "ä", &"k".repeat(64)] {
            assert_eq!(Label::new(key, "v"), Err(LabelError::Key(key.chars().take(63).collect())));
        }
        assert!(Label::new("k".repeat(63), "v".repeat(200)).is_ok());
    }

    #[test]
    fn a_label_is_read_from_its_text() {
        let label = |text: &str| text.parse::<Label>().map(|label| (label.key, label.value));
        let pair = |key: &str, value: &str| Ok((key.to_owned(), value.to_owned()));
        assert_eq!(label("team:ops"), pair("team", "ops"));
        assert_eq!(label("team=ops"), pair("team", "ops"));
        assert_eq!(label("url:http://x=1"), pair("url", "http://x=1"));
        assert_eq!(label("team"), Err(LabelError::NoSeparator("team".into())));
        assert_eq!(label("team:"), Err(LabelError::EmptyValue("team".into())));
    }

    #[test]
    fn a_label_given_later_replaces_one_with_its_key() {
        let labels = |value: Value| serde_json::from_value::<Labels>(value).expect("labels");
        let both = labels(json!({"a": 1, "b": 1})).with(labels(json!({"b": 2, "c": 2})));
        assert_eq!(both, Ok(labels(json!({"a": 1, "b": 2, "c": 2}))));
    }

    #[test]
    fn index_entries_tell_labels_and_statuses_apart() {
        let label = |text: &str| text.parse::<Label>().expect("a label");
        let key = |text: &str, status| label(text).index_entry(status).key.as_str().to_owned();
        assert_eq!(key("team:ops", ExecutionStatus::Failed), "team:ops FAILED");
        assert_ne!(
            key("a:b FAILED", ExecutionStatus::Running),
            key("a:b", ExecutionStatus::Failed),
        );
    }
}
