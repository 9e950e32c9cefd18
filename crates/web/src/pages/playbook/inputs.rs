//! The form to run a playbook, made from the defaults of its workload, and the workload that a sent
//! form describes.
//!
//! Invariant: a field that is sent as it was drawn gives the default back, with its type.

use noetl_playbook::parse;
use serde_json::{Map, Value};

use crate::form::SignedForm;

/// Prefix of the names of fields for parameters.
pub(in crate::pages) const PREFIX: &str = "workload.";

/// A field of the form.
#[derive(Debug, PartialEq)]
pub(in crate::pages) struct InputField {
    pub(in crate::pages) name: String,
    pub(in crate::pages) kind: FieldKind,
    pub(in crate::pages) text: String,
}

/// The type of a parameter, by its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) enum FieldKind {
    Text,
    Number,
    Flag,
    /// A list, an object or null, written as JSON.
    Json,
}

impl FieldKind {
    fn of(default: &Value) -> Self {
        match default {
            Value::String(_) => Self::Text,
            Value::Number(_) => Self::Number,
            Value::Bool(_) => Self::Flag,
            Value::Null | Value::Array(_) | Value::Object(_) => Self::Json,
        }
    }
}

/// Returns the fields for the workload of a document; none if it is no valid playbook.
pub(in crate::pages) fn fields(content: &str) -> Vec<InputField> {
    let defaults = workload(content);
    defaults.into_iter().map(|(name, default)| field(name, &default)).collect()
}

/// Returns the same fields with the values that a form has sent.
pub(in crate::pages) fn sent_fields(content: &str, form: &SignedForm) -> Vec<InputField> {
    let sent: Vec<(&str, &str)> = form.under(PREFIX).collect();
    let mut fields = fields(content);
    for field in &mut fields {
        let text = sent.iter().find(|(name, _)| *name == field.name).map(|(_, text)| *text);
        field.text = match (field.kind, text) {
            (FieldKind::Flag, text) => text.is_some_and(|it| it == "true").to_string(),
            (FieldKind::Text | FieldKind::Number | FieldKind::Json, Some(text)) => text.to_owned(),
            (FieldKind::Text | FieldKind::Number | FieldKind::Json, None) => continue,
        };
    }
    fields
}

fn workload(content: &str) -> Map<String, Value> {
    parse("playbook", content.as_bytes()).map_or_else(|_| Map::new(), |it| it.playbook.workload)
}

fn field(name: String, default: &Value) -> InputField {
    let kind = FieldKind::of(default);
    let text = match default {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => default.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(default).unwrap_or_default()
        }
    };
    InputField { name, kind, text }
}

/// Returns the workload of a sent form; the error names the field that cannot be read.
pub(in crate::pages) fn payload(
    content: &str,
    form: &SignedForm,
) -> Result<Map<String, Value>, String> {
    let sent: Vec<(&str, &str)> = form.under(PREFIX).collect();
    read(&workload(content), &sent)
}

fn read(
    defaults: &Map<String, Value>,
    sent: &[(&str, &str)],
) -> Result<Map<String, Value>, String> {
    let mut payload = Map::new();
    for (name, default) in defaults {
        let text = sent.iter().find(|(sent, _)| sent == name).map(|(_, text)| *text);
        // A browser leaves out a box that is not checked.
        let value = match (FieldKind::of(default), text) {
            (FieldKind::Flag, text) => Value::Bool(text.is_some_and(|it| it == "true")),
            (_, None) => continue,
            (FieldKind::Text, Some(text)) => Value::String(text.replace("\r\n", "\n")),
            (FieldKind::Number | FieldKind::Json, Some(text)) => serde_json::from_str(text)
                .map_err(|error| format!("`{name}` is not valid JSON: {error}"))?,
        };
        payload.insert(name.clone(), value);
    }
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn defaults() -> Map<String, Value> {
        let Value::Object(map) = json!({ "text": "a\nb", "count": 3, "share": 0.5, "on": true, "list": [1], "none": null })
        else {
            panic!("an object")
        };
        map
    }

    #[test]
    fn a_form_that_is_sent_as_drawn_gives_the_defaults() {
        let fields: Vec<InputField> =
            defaults().into_iter().map(|(name, value)| field(name, &value)).collect();
        let sent: Vec<(&str, &str)> =
            fields.iter().map(|it| (it.name.as_str(), it.text.as_str())).collect();
        assert_eq!(read(&defaults(), &sent), Ok(defaults()));
    }

    #[test]
    fn changed_fields_keep_their_types() {
        let read = read(&defaults(), &[("count", "7"), ("text", "3"), ("list", "[]")]);
        assert_eq!(
            Value::from(read.unwrap()),
            json!({ "text": "3", "count": 7, "on": false, "list": [] })
        );
    }

    #[test]
    fn a_field_that_is_not_json_is_named() {
        let error = read(&defaults(), &[("count", "many")]).unwrap_err();
        assert!(error.starts_with("`count` is not valid JSON"), "{error}");
    }
}
