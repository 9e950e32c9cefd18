//! The form to run a playbook, made from its declared inputs and the defaults of its workload, and the
//! workload that a sent form describes.
//!
//! Invariant: a field that is sent as it was drawn gives the default back, with its type.

use noetl_playbook::{DeclaredInput, DeclaredInputs, InputType, Playbook, parse};
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
    pub(in crate::pages) description: Option<String>,
    pub(in crate::pages) is_required: bool,
}

/// The type of a parameter, as declared or by its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) enum FieldKind {
    Text,
    Number,
    Flag,
    /// A list, an object or null, written as JSON.
    Json,
    /// One of the texts.
    Choice(Vec<String>),
    /// A text that is not shown; the page never contains it.
    Secret,
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

    fn of_declared(input: &DeclaredInput) -> Self {
        if input.is_secret {
            return Self::Secret;
        }
        if !input.rule.choices.is_empty() {
            return Self::Choice(input.rule.choices.iter().map(written).collect());
        }
        match input.rule.kind {
            InputType::Text | InputType::Any => Self::Text,
            InputType::Integer | InputType::Number => Self::Number,
            InputType::Boolean => Self::Flag,
            InputType::List | InputType::Object => Self::Json,
        }
    }
}

/// The parameters of a playbook.
#[derive(Default)]
struct Parameters {
    /// Defaults, also of declared inputs.
    workload: Map<String, Value>,
    inputs: Vec<DeclaredInput>,
}

impl Parameters {
    /// Returns the parameters of a document; none if it is no valid playbook.
    fn of(content: &str) -> Self {
        let checked = parse("playbook", content.as_bytes());
        checked.map(|checked| Self::of_playbook(&checked.playbook)).unwrap_or_default()
    }

    fn of_playbook(playbook: &Playbook) -> Self {
        let inputs = playbook.inputs.as_ref().map(|DeclaredInputs { inputs, .. }| inputs.clone());
        Self { workload: playbook.workload.clone(), inputs: inputs.unwrap_or_default() }
    }

    /// Returns the defaults of parameters that are not declared.
    fn undeclared(&self) -> impl Iterator<Item = (&String, &Value)> {
        let is_declared = |name: &str| self.inputs.iter().any(|input| input.name == name);
        self.workload.iter().filter(move |(name, _)| !is_declared(name))
    }

    fn fields(&self) -> Vec<InputField> {
        let declared = self.inputs.iter().map(|input| InputField {
            name: input.name.clone(),
            kind: FieldKind::of_declared(input),
            text: self.workload.get(&input.name).map(written).unwrap_or_default(),
            description: input.description.clone(),
            is_required: input.is_required,
        });
        let others = self.undeclared().map(|(name, default)| InputField {
            name: name.clone(),
            kind: FieldKind::of(default),
            text: written(default),
            description: None,
            is_required: false,
        });
        declared.chain(others).collect()
    }

    /// Returns the workload of sent fields; the error names every field that cannot be read.
    fn read(&self, sent: &[(&str, &str)]) -> Result<Map<String, Value>, String> {
        let (mut payload, mut problems) = (Map::new(), Vec::new());
        let text_of =
            |name: &str| sent.iter().find(|(sent, _)| *sent == name).map(|(_, text)| *text);
        for input in &self.inputs {
            match declared_value(input, text_of(&input.name)) {
                Ok(Some(value)) => {
                    payload.insert(input.name.clone(), value);
                }
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            }
        }
        for (name, default) in self.undeclared() {
            match undeclared_value(name, default, text_of(name)) {
                Ok(Some(value)) => {
                    payload.insert(name.clone(), value);
                }
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(payload) } else { Err(problems.join("; ")) }
    }
}

/// Returns the fields for the workload of a document; none if it is no valid playbook.
pub(in crate::pages) fn fields(content: &str) -> Vec<InputField> {
    Parameters::of(content).fields()
}

/// Returns the fields for the workload of a playbook.
pub(in crate::pages) fn playbook_fields(playbook: &Playbook) -> Vec<InputField> {
    Parameters::of_playbook(playbook).fields()
}

/// Returns the same fields with the values that a form has sent.
pub(in crate::pages) fn sent_fields(content: &str, form: &SignedForm) -> Vec<InputField> {
    let sent: Vec<(&str, &str)> = form.under(PREFIX).collect();
    let mut fields = fields(content);
    for field in &mut fields {
        let text = sent.iter().find(|(name, _)| *name == field.name).map(|(_, text)| *text);
        field.text = match (&field.kind, text) {
            (FieldKind::Flag, text) => text.is_some_and(|it| it == "true").to_string(),
            // A secret is typed again rather than sent back.
            (FieldKind::Secret, _) => String::new(),
            (
                FieldKind::Text | FieldKind::Number | FieldKind::Json | FieldKind::Choice(_),
                Some(text),
            ) => text.to_owned(),
            (
                FieldKind::Text | FieldKind::Number | FieldKind::Json | FieldKind::Choice(_),
                None,
            ) => continue,
        };
    }
    fields
}

/// Returns the workload of a sent form; the error names the fields that cannot be read.
pub(in crate::pages) fn payload(
    content: &str,
    form: &SignedForm,
) -> Result<Map<String, Value>, String> {
    let sent: Vec<(&str, &str)> = form.under(PREFIX).collect();
    Parameters::of(content).read(&sent)
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(value).unwrap_or_default()
        }
    }
}

/// Returns the value of a declared input; `None` if the field is empty, so that its default applies.
fn declared_value(input: &DeclaredInput, text: Option<&str>) -> Result<Option<Value>, String> {
    let text = match (FieldKind::of_declared(input), text) {
        // A browser leaves out a box that is not checked.
        (FieldKind::Flag, text) => {
            return Ok(Some(Value::Bool(text.is_some_and(|it| it == "true"))));
        }
        (_, None) => return Ok(None),
        (FieldKind::Text, Some("")) if input.default.is_some() => "",
        (_, Some("")) => return Ok(None),
        (_, Some(text)) => text,
    };
    let read = input.value_of_text(&text.replace("\r\n", "\n"));
    read.map(Some).map_err(|problem| problem.to_string())
}

fn undeclared_value(
    name: &str,
    default: &Value,
    text: Option<&str>,
) -> Result<Option<Value>, String> {
    Ok(Some(match (FieldKind::of(default), text) {
        (FieldKind::Flag, text) => Value::Bool(text.is_some_and(|it| it == "true")),
        (_, None) => return Ok(None),
        (FieldKind::Text | FieldKind::Choice(_) | FieldKind::Secret, Some(text)) => {
            Value::String(text.replace("\r\n", "\n"))
        }
        (FieldKind::Number | FieldKind::Json, Some(text)) => serde_json::from_str(text)
            .map_err(|error| format!("`{name}` is not valid JSON: {error}"))?,
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn undeclared() -> Parameters {
        let Value::Object(workload) = json!({ "text": "a\nb", "count": 3, "share": 0.5, "on": true, "list": [1], "none": null })
        else {
            panic!("an object")
        };
        Parameters { workload, inputs: Vec::new() }
    }

    const DECLARED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
inputs:
  city: {type: string, required: true, description: Where.}
  count: {type: integer, default: 3}
  env: {enum: [dev, prod]}
  fast: boolean
workload: {url: here}
workflow:
- step: start
  tool: {kind: noop}
";

    #[track_caller]
    fn check(sent: &[(&str, &str)], expected: Result<Value, &str>) {
        let read = Parameters::of(DECLARED).read(sent).map(Value::from);
        assert_eq!(read.as_ref().map_err(String::as_str), expected.as_ref().map_err(|it| *it));
    }

    #[test]
    fn a_form_that_is_sent_as_drawn_gives_the_defaults() {
        let fields = undeclared().fields();
        let sent: Vec<(&str, &str)> =
            fields.iter().map(|it| (it.name.as_str(), it.text.as_str())).collect();
        assert_eq!(undeclared().read(&sent), Ok(undeclared().workload));
    }

    #[test]
    fn changed_fields_keep_their_types() {
        let read = undeclared().read(&[("count", "7"), ("text", "3"), ("list", "[]")]);
        assert_eq!(
            Value::from(read.unwrap()),
            json!({ "text": "3", "count": 7, "on": false, "list": [] })
        );
    }

    #[test]
    fn a_field_that_is_not_json_is_named() {
        let error = undeclared().read(&[("count", "many")]).unwrap_err();
        assert!(error.starts_with("`count` is not valid JSON"), "{error}");
    }

    #[test]
    fn declared_inputs_come_first_with_their_types() {
        let fields = fields(DECLARED);
        let drawn: Vec<(&str, &FieldKind, bool)> =
            fields.iter().map(|it| (it.name.as_str(), &it.kind, it.is_required)).collect();
        let choice = FieldKind::Choice(vec!["dev".to_owned(), "prod".to_owned()]);
        assert_eq!(
            drawn,
            [
                ("city", &FieldKind::Text, true),
                ("count", &FieldKind::Number, false),
                ("env", &choice, false),
                ("fast", &FieldKind::Flag, false),
                ("url", &FieldKind::Text, false),
            ]
        );
        assert_eq!(fields[0].description.as_deref(), Some("Where."));
        assert_eq!(fields[1].text, "3");
    }

    #[test]
    fn the_values_of_declared_inputs_have_the_declared_types() {
        check(
            &[("city", "Bern"), ("count", "5"), ("env", ""), ("fast", "true"), ("url", "x")],
            Ok(json!({"city": "Bern", "count": 5, "fast": true, "url": "x"})),
        );
        check(
            &[("city", ""), ("count", "many"), ("env", "prd")],
            Err(
                "`count` must be a whole number, this is text: `many`; `env` cannot be text: `prd`; \
                 it is one of dev, prod (did you mean `prod`?)",
            ),
        );
    }
}
