//! Forms: the values that a decision of a person gives, described by a JSON Schema.
//!
//! A form is a schema of type `object` whose properties are texts, numbers or booleans. Keywords
//! outside this subset are errors, so that no part of a schema is silently ignored.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Number, Value};

/// The largest number of fields of a form.
pub const FORM_FIELDS_MAX: usize = 50;
/// The longest form, as JSON.
pub const FORM_LEN_MAX: usize = 32 * 1024;
/// The longest values of a decision, as JSON.
pub const FORM_VALUES_MAX: usize = 64 * 1024;
/// The largest number of problems that are reported.
const PROBLEMS_MAX: usize = 50;

/// The keywords of a form itself. `$schema`, `title` and `description` describe it only.
const FORM_WORDS: &[&str] =
    &["$schema", "type", "title", "description", "properties", "required", "additionalProperties"];

/// A form with its fields in the order of the schema.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecisionForm {
    pub fields: Vec<FormField>,
}

/// A value that a form asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub kind: FormFieldKind,
    /// The values to choose from; empty if every value of the kind is allowed.
    pub choices: Vec<Value>,
    pub default: Option<Value>,
    pub is_required: bool,
}

/// The type of a field's value, with its limits.
#[derive(Debug, Clone, PartialEq)]
pub enum FormFieldKind {
    Text { len_min: u64, len_max: Option<u64>, format: TextFormat },
    Integer { min: Option<i64>, max: Option<i64> },
    Number { min: Option<f64>, max: Option<f64> },
    Boolean,
}

/// The kind of input that suits a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextFormat {
    #[default]
    Line,
    /// A text of several lines.
    Multiline,
    Date,
    DateTime,
    Email,
    Uri,
}

/// A value that does not fit its form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormProblem {
    /// The field; empty if the values are wrong as a whole.
    pub field: String,
    pub message: String,
}

impl fmt::Display for FormProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "`{}` {}", self.field, self.message)
        }
    }
}

/// The extent to which the values of a decision have to be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Every required field has a value, and missing ones get their defaults.
    Complete,
    /// Fields may be missing.
    Partial,
}

impl DecisionForm {
    /// Reads a form from its schema; returns every problem of the schema.
    pub fn parse(schema: &Value) -> Result<Self, Vec<String>> {
        let Value::Object(schema) = schema else {
            return Err(vec!["a form is a map: a JSON Schema with `properties`".to_owned()]);
        };
        let mut problems = Vec::new();
        let len = Value::Object(schema.clone()).to_string().len();
        if len > FORM_LEN_MAX {
            problems.push(format!("the form has {len} bytes; {FORM_LEN_MAX} are allowed"));
        }
        unknown_words("the form", schema, FORM_WORDS, &mut problems);
        if schema.get("type").is_some_and(|kind| kind != "object") {
            problems.push("the `type` of the form is `object`".to_owned());
        }
        let required = names(schema.get("required"), &mut problems);
        let empty = Map::new();
        let properties = match schema.get("properties") {
            None => &empty,
            Some(Value::Object(properties)) => properties,
            Some(_) => {
                problems.push("`properties` is a map of fields".to_owned());
                &empty
            }
        };
        if properties.len() > FORM_FIELDS_MAX {
            let found = properties.len();
            problems.push(format!("the form has {found} fields; {FORM_FIELDS_MAX} are allowed"));
        }
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            problems.push(format!("`required` names `{name}`, which is not in `properties`"));
        }
        let mut fields = Vec::new();
        for (name, field) in properties.iter().take(FORM_FIELDS_MAX) {
            let is_required = required.contains(&name.as_str());
            fields.push(FormField::parse(name, field, is_required, &mut problems));
        }
        problems.truncate(PROBLEMS_MAX);
        if problems.is_empty() { Ok(Self { fields }) } else { Err(problems) }
    }

    /// Returns the values with the defaults of missing fields; every problem if they do not fit.
    pub fn check(
        &self,
        values: &Map<String, Value>,
        completeness: Completeness,
    ) -> Result<Map<String, Value>, Vec<FormProblem>> {
        let mut problems = Vec::new();
        let problem = |field: &str, message: String| FormProblem { field: field.into(), message };
        let len = Value::Object(values.clone()).to_string().len();
        if len > FORM_VALUES_MAX {
            let message = format!("the values have {len} bytes; {FORM_VALUES_MAX} are allowed");
            problems.push(problem("", message));
        }
        for name in values.keys().filter(|name| self.field(name).is_none()) {
            let known: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
            let message = if known.is_empty() {
                "is not asked for: the approval has no form".to_owned()
            } else {
                format!("is not asked for; the form has {}", known.join(", "))
            };
            problems.push(problem(name, message));
        }
        let mut checked = Map::new();
        for field in &self.fields {
            let given = values.get(&field.name).filter(|value| !value.is_null());
            let value = match (given, completeness) {
                (Some(value), _) => Some(value),
                (None, Completeness::Complete) => field.default.as_ref(),
                (None, Completeness::Partial) => None,
            };
            match (value, completeness) {
                (Some(value), _) => match field.mismatch(value) {
                    None => drop(checked.insert(field.name.clone(), value.clone())),
                    Some(message) => problems.push(problem(&field.name, message)),
                },
                (None, Completeness::Complete) if field.is_required => {
                    problems.push(problem(&field.name, "is required".to_owned()));
                }
                (None, Completeness::Complete | Completeness::Partial) => {}
            }
        }
        problems.truncate(PROBLEMS_MAX);
        if problems.is_empty() { Ok(checked) } else { Err(problems) }
    }

    /// Converts texts, as a person types them, to values of the fields' types. A text that does not
    /// fit stays a text, so that [`DecisionForm::check`] reports it. An empty text is no value.
    pub fn from_texts(&self, texts: &BTreeMap<String, String>) -> Map<String, Value> {
        let mut values = Map::new();
        for (name, text) in texts {
            let value = match self.field(name) {
                Some(_) if text.is_empty() => continue,
                Some(field) => field.read(text),
                None => Value::String(text.clone()),
            };
            values.insert(name.clone(), value);
        }
        values
    }

    fn field(&self, name: &str) -> Option<&FormField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl FormField {
    /// Returns the words to show for the field.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    fn parse(
        name: &str,
        schema: &Value,
        is_required: bool,
        problems: &mut Vec<String>,
    ) -> FormField {
        let empty = Map::new();
        let schema = schema.as_object().unwrap_or_else(|| {
            problems.push(format!("field `{name}` is a map such as {{type: string}}"));
            &empty
        });
        let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        let choices = match schema.get("enum") {
            None => Vec::new(),
            Some(Value::Array(choices)) if !choices.is_empty() => choices.clone(),
            Some(_) => {
                problems.push(format!("`enum` of field `{name}` is a list of values"));
                Vec::new()
            }
        };
        let (kind, words) = kind_of(name, schema, &choices, problems);
        let of_all = ["type", "title", "description", "enum", "default"];
        let words: Vec<&str> = of_all.iter().chain(words).copied().collect();
        unknown_words(&format!("field `{name}`"), schema, &words, problems);
        let mut field = FormField {
            name: name.to_owned(),
            title: text("title"),
            description: text("description"),
            kind,
            choices: Vec::new(),
            default: None,
            is_required,
        };
        for choice in &choices {
            if let Some(message) = field.mismatch(choice) {
                problems.push(format!("`enum` of field `{name}`: {choice} {message}"));
            }
        }
        field.choices = choices;
        if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
            if let Some(message) = field.mismatch(default) {
                problems.push(format!("`default` of field `{name}` {message}"));
            }
            field.default = Some(default.clone());
        }
        field
    }

    /// Returns the reason why a value does not fit; `None` if it fits.
    fn mismatch(&self, value: &Value) -> Option<String> {
        if !self.choices.is_empty() {
            let choices: Vec<String> = self.choices.iter().map(shown).collect();
            let is_choice = self.choices.contains(value);
            return (!is_choice)
                .then(|| format!("is one of {}, not {}", choices.join(", "), shown(value)));
        }
        match (&self.kind, value) {
            (FormFieldKind::Boolean, Value::Bool(_)) => None,
            (FormFieldKind::Boolean, _) => Some(format!("is true or false, not {}", shown(value))),
            (FormFieldKind::Text { len_min, len_max, format: _ }, Value::String(text)) => {
                let len = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
                if len < *len_min {
                    return Some(format!("has at least {len_min} characters, not {len}"));
                }
                let max = len_max.filter(|max| len > *max)?;
                Some(format!("has at most {max} characters, not {len}"))
            }
            (FormFieldKind::Text { .. }, _) => Some(format!("is a text, not {}", shown(value))),
            (FormFieldKind::Integer { min, max }, value) => {
                let Some(number) = value.as_i64() else {
                    return Some(format!("is a whole number, not {}", shown(value)));
                };
                outside(number, *min, *max)
            }
            (FormFieldKind::Number { min, max }, value) => {
                let Some(number) = value.as_f64() else {
                    return Some(format!("is a number, not {}", shown(value)));
                };
                outside(number, *min, *max)
            }
        }
    }

    /// Converts a text to a value of the field's type; returns the text if it is none.
    fn read(&self, text: &str) -> Value {
        let chosen = self.choices.iter().find(|choice| match choice {
            Value::String(choice) => choice == text,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => {
                let written = choice.to_string();
                written == text
            }
        });
        if let Some(chosen) = chosen {
            return chosen.clone();
        }
        let trimmed = text.trim();
        let read = match self.kind {
            FormFieldKind::Text { .. } => None,
            FormFieldKind::Integer { .. } => {
                trimmed.parse().ok().map(|n: i64| Value::Number(n.into()))
            }
            FormFieldKind::Number { .. } => {
                let parsed = trimmed.parse().ok();
                parsed.and_then(|n: f64| Number::from_f64(n)).map(Value::Number)
            }
            FormFieldKind::Boolean => match trimmed {
                "true" | "yes" | "on" => Some(Value::Bool(true)),
                "false" | "no" | "off" => Some(Value::Bool(false)),
                _ => None,
            },
        };
        read.unwrap_or_else(|| Value::String(text.to_owned()))
    }
}

fn outside<N: PartialOrd + fmt::Display>(n: N, min: Option<N>, max: Option<N>) -> Option<String> {
    if let Some(min) = min.filter(|min| n < *min) {
        return Some(format!("is at least {min}, not {n}"));
    }
    let max = max.filter(|max| *max < n)?;
    Some(format!("is at most {max}, not {n}"))
}

/// Returns a value as a message shows it: as JSON, shortened.
fn shown(value: &Value) -> String {
    const SHOWN_MAX: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    text.chars().take(SHOWN_MAX).chain(['…']).collect()
}

/// Returns the type of a field and the keywords that it has besides the general ones.
fn kind_of(
    name: &str,
    schema: &Map<String, Value>,
    choices: &[Value],
    problems: &mut Vec<String>,
) -> (FormFieldKind, &'static [&'static str]) {
    let kind = match (schema.get("type"), choices.first()) {
        (Some(Value::String(kind)), _) => kind.as_str(),
        (None, Some(Value::Number(_))) => "number",
        (None, Some(Value::Bool(_))) => "boolean",
        (None, _) => "string",
        (Some(_), _) => "",
    };
    match kind {
        "string" => {
            let format = text_format(name, schema, problems);
            let len_min = whole(name, schema, "minLength", problems).unwrap_or(0);
            let len_max = whole(name, schema, "maxLength", problems);
            (
                FormFieldKind::Text { len_min, len_max, format },
                &["minLength", "maxLength", "format"],
            )
        }
        "integer" => {
            let limit = |key: &str, problems: &mut Vec<String>| {
                let limit = schema.get(key)?;
                if limit.as_i64().is_none() {
                    problems.push(format!("`{key}` of field `{name}` is a whole number"));
                }
                limit.as_i64()
            };
            let (min, max) = (limit("minimum", problems), limit("maximum", problems));
            (FormFieldKind::Integer { min, max }, &["minimum", "maximum"])
        }
        "number" => {
            let limit = |key: &str, problems: &mut Vec<String>| {
                let limit = schema.get(key)?;
                if limit.as_f64().is_none() {
                    problems.push(format!("`{key}` of field `{name}` is a number"));
                }
                limit.as_f64()
            };
            let (min, max) = (limit("minimum", problems), limit("maximum", problems));
            (FormFieldKind::Number { min, max }, &["minimum", "maximum"])
        }
        "boolean" => (FormFieldKind::Boolean, &[]),
        _ => {
            problems.push(format!(
                "`type` of field `{name}` is `string`, `number`, `integer` or `boolean`"
            ));
            (FormFieldKind::Boolean, &[])
        }
    }
}

fn text_format(name: &str, schema: &Map<String, Value>, problems: &mut Vec<String>) -> TextFormat {
    match schema.get("format").map(Value::as_str) {
        None => TextFormat::Line,
        Some(Some("multiline" | "textarea")) => TextFormat::Multiline,
        Some(Some("date")) => TextFormat::Date,
        Some(Some("date-time")) => TextFormat::DateTime,
        Some(Some("email")) => TextFormat::Email,
        Some(Some("uri")) => TextFormat::Uri,
        Some(_) => {
            problems.push(format!(
                "`format` of field `{name}` is `multiline`, `date`, `date-time`, `email` or `uri`"
            ));
            TextFormat::Line
        }
    }
}

fn whole(
    name: &str,
    schema: &Map<String, Value>,
    key: &str,
    problems: &mut Vec<String>,
) -> Option<u64> {
    let limit = schema.get(key)?;
    if limit.as_u64().is_none() {
        problems.push(format!("`{key}` of field `{name}` is a whole number"));
    }
    limit.as_u64()
}

fn names<'v>(required: Option<&'v Value>, problems: &mut Vec<String>) -> Vec<&'v str> {
    match required {
        None => Vec::new(),
        Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
            names.iter().filter_map(Value::as_str).collect()
        }
        Some(_) => {
            problems.push("`required` is a list of names of fields".to_owned());
            Vec::new()
        }
    }
}

fn unknown_words(
    what: &str,
    schema: &Map<String, Value>,
    known: &[&str],
    problems: &mut Vec<String>,
) {
    for word in schema.keys().filter(|word| !known.contains(&word.as_str())) {
        problems.push(format!("{what} has the keyword `{word}`, which forms do not support"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn release() -> DecisionForm {
        let schema = json!({
            "type": "object",
            "required": ["version", "share"],
            "properties": {
                "version": { "type": "string", "title": "Version", "minLength": 1, "maxLength": 8 },
                "share": { "type": "integer", "minimum": 1, "maximum": 100, "default": 10 },
                "window": { "enum": ["day", "night"] },
                "budget": { "type": "number", "minimum": 0.5 },
                "notify": { "type": "boolean" },
            },
        });
        DecisionForm::parse(&schema).expect("a form")
    }

    fn check(values: Value, expected: Result<Value, &[&str]>) {
        let Value::Object(values) = values else { panic!("a map") };
        let found = release().check(&values, Completeness::Complete);
        let found = found.map(Value::Object).map_err(|problems| {
            problems.iter().map(FormProblem::to_string).collect::<Vec<String>>()
        });
        let expected = expected.map_err(|problems| {
            problems.iter().map(|problem| (*problem).to_owned()).collect::<Vec<String>>()
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn values_get_defaults_and_every_problem_is_reported() {
        check(
            json!({ "version": "1.4", "window": "night", "notify": true }),
            Ok(json!({ "version": "1.4", "share": 10, "window": "night", "notify": true })),
        );
        check(json!({ "version": null }), Err(&["`version` is required"]));
        check(
            json!({
                "version": "", "share": 101, "window": "noon", "budget": 0, "notify": "yes",
                "color": 1,
            }),
            Err(&[
                "`color` is not asked for; the form has version, share, window, budget, notify",
                "`version` has at least 1 characters, not 0",
                "`share` is at most 100, not 101",
                r#"`window` is one of "day", "night", not "noon""#,
                "`budget` is at least 0.5, not 0",
                r#"`notify` is true or false, not "yes""#,
            ]),
        );
        check(
            json!({ "version": "123456789", "share": 1.5 }),
            Err(&[
                "`version` has at most 8 characters, not 9",
                "`share` is a whole number, not 1.5",
            ]),
        );
    }

    #[test]
    fn a_partial_check_needs_nothing_and_adds_nothing() {
        let none = release().check(&Map::new(), Completeness::Partial);
        assert_eq!(none, Ok(Map::new()));
    }

    #[test]
    fn texts_become_values_of_the_types_of_their_fields() {
        let texts = [
            ("version", "7"),
            ("share", " 20 "),
            ("budget", "many"),
            ("notify", "on"),
            ("window", ""),
        ];
        let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let expected = json!({ "version": "7", "share": 20, "budget": "many", "notify": true });
        assert_eq!(Value::Object(release().from_texts(&texts)), expected);
    }

    #[track_caller]
    fn refused(schema: &Value, expected: &[&str]) {
        let problems = DecisionForm::parse(schema).expect_err("no form");
        assert_eq!(problems, expected);
    }

    #[test]
    fn schemas_outside_the_subset_are_refused_with_every_reason() {
        refused(&json!([]), &["a form is a map: a JSON Schema with `properties`"]);
        refused(
            &json!({
                "type": "array",
                "oneOf": [],
                "required": ["b"],
                "properties": {
                    "a": { "type": "array", "items": {} },
                    "c": { "type": "integer", "minimum": "1", "default": "x" },
                    "d": { "enum": [] },
                    "e": { "format": "colour" },
                    "f": 5,
                },
            }),
            &[
                "the form has the keyword `oneOf`, which forms do not support",
                "the `type` of the form is `object`",
                "`required` names `b`, which is not in `properties`",
                "`type` of field `a` is `string`, `number`, `integer` or `boolean`",
                "field `a` has the keyword `items`, which forms do not support",
                "`minimum` of field `c` is a whole number",
                "`default` of field `c` is a whole number, not \"x\"",
                "`enum` of field `d` is a list of values",
                "`format` of field `e` is `multiline`, `date`, `date-time`, `email` or `uri`",
                "field `f` is a map such as {type: string}",
            ],
        );
    }
}
