//! The rule that a value has to fit: its type and its limits, also of the values within it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use regex::Regex;
use serde_json::{Number, Value};

use super::{INPUT_PROBLEMS_MAX, InputProblem};
use crate::suggest::nearest;

/// The most characters of a value that a message quotes.
const QUOTED_CHARS_MAX: usize = 40;

/// The type of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputType {
    Text,
    Integer,
    Number,
    Boolean,
    List,
    Object,
    /// Any value.
    Any,
}

impl InputType {
    /// The spellings of the types; the first of each type is the current one.
    pub(crate) const WORDS: &'static [(&'static str, InputType)] = &[
        ("string", InputType::Text),
        ("integer", InputType::Integer),
        ("number", InputType::Number),
        ("boolean", InputType::Boolean),
        ("list", InputType::List),
        ("object", InputType::Object),
        ("any", InputType::Any),
        ("str", InputType::Text),
        ("text", InputType::Text),
        ("int", InputType::Integer),
        ("float", InputType::Number),
        ("double", InputType::Number),
        ("bool", InputType::Boolean),
        ("array", InputType::List),
        ("map", InputType::Object),
        ("dict", InputType::Object),
    ];

    /// Returns the name of the type in a playbook.
    pub fn as_str(self) -> &'static str {
        let mut words = Self::WORDS.iter();
        words.find(|(_, kind)| *kind == self).map_or("any", |(word, _)| word)
    }

    /// Returns the type in a sentence.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            InputType::Text => "text",
            InputType::Integer => "a whole number",
            InputType::Number => "a number",
            InputType::Boolean => "true or false",
            InputType::List => "a list",
            InputType::Object => "a map",
            InputType::Any => "a value",
        }
    }

    /// Converts a value that spells one of this type; `None` if it does not.
    fn converted(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (InputType::Any, _)
            | (InputType::Text, Value::String(_))
            | (InputType::Number, Value::Number(_))
            | (InputType::Boolean, Value::Bool(_))
            | (InputType::List, Value::Array(_))
            | (InputType::Object, Value::Object(_)) => Some(value.clone()),
            (InputType::Integer, Value::Number(number)) => whole(number).map(Value::Number),
            (InputType::Integer, Value::String(text)) => {
                let number: Number = text.trim().parse().ok()?;
                whole(&number).map(Value::Number)
            }
            (InputType::Number, Value::String(text)) => {
                text.trim().parse::<Number>().ok().map(Value::Number)
            }
            (InputType::Boolean, Value::String(text)) => match text.trim() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            (InputType::List, Value::String(text)) => {
                serde_json::from_str(text).ok().filter(Value::is_array)
            }
            (InputType::Object, Value::String(text)) => {
                serde_json::from_str(text).ok().filter(Value::is_object)
            }
            (
                InputType::Text
                | InputType::Integer
                | InputType::Number
                | InputType::Boolean
                | InputType::List
                | InputType::Object,
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_),
            ) => None,
        }
    }
}

/// Returns a number without a fraction as an integer.
fn whole(number: &Number) -> Option<Number> {
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let float = number.as_f64().filter(|it| it.fract() == 0.0)?;
    format!("{float:.0}").parse::<i64>().ok().map(Number::from)
}

/// The rule of one value.
#[derive(Debug, Clone)]
pub struct ValueRule {
    pub kind: InputType,
    /// The values that are allowed; empty if all are.
    pub choices: Vec<Value>,
    /// The limits of a number.
    pub min: Option<Number>,
    pub max: Option<Number>,
    /// The limits of the characters of a text or the items of a list.
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub pattern: Option<Regex>,
    /// The rule of each item of a list.
    pub(crate) items: Option<Box<ValueRule>>,
    pub(crate) object: Option<ObjectRule>,
    /// True if messages must not quote the value.
    pub(crate) is_hidden: bool,
}

/// The rule of the fields of a map.
#[derive(Debug, Clone)]
pub(crate) struct ObjectRule {
    pub(crate) fields: BTreeMap<String, FieldRule>,
    /// True if further fields are allowed.
    pub(crate) allows_others: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct FieldRule {
    pub(crate) rule: ValueRule,
    pub(crate) is_required: bool,
    pub(crate) default: Option<Value>,
}

impl ValueRule {
    pub(crate) fn of(kind: InputType) -> Self {
        Self {
            kind,
            choices: Vec::new(),
            min: None,
            max: None,
            min_length: None,
            max_length: None,
            pattern: None,
            items: None,
            object: None,
            is_hidden: false,
        }
    }

    /// Describes the values that fit, for a message.
    pub(super) fn wanted(&self) -> String {
        if self.choices.is_empty() { self.kind.noun().to_owned() } else { self.choices_text() }
    }

    fn choices_text(&self) -> String {
        let choices: Vec<String> = self.choices.iter().map(plain).collect();
        format!("one of {}", choices.join(", "))
    }

    /// Checks a value and converts it to the type of the rule.
    pub(crate) fn check(&self, path: &str, value: &mut Value, problems: &mut Vec<InputProblem>) {
        if problems.len() > INPUT_PROBLEMS_MAX {
            return;
        }
        let mut problem = |message: String, suggestion: Option<String>| {
            problems.push(InputProblem { path: path.to_owned(), message, suggestion });
        };
        let Some(converted) = self.kind.converted(value) else {
            let message =
                format!("`{path}` must be {}, this is {}", self.wanted(), self.told(value));
            return problem(message, None);
        };
        *value = converted;
        if !self.choices.is_empty() && !self.choices.iter().any(|choice| is_same(choice, value)) {
            let texts = self.choices.iter().filter_map(Value::as_str);
            let near = value.as_str().and_then(|text| nearest(text, texts));
            let (shown, choices) = (self.told(value), self.choices_text());
            let message = format!("`{path}` cannot be {shown}; it is {choices}");
            return problem(message, near.map(str::to_owned).filter(|_| !self.is_hidden));
        }
        if let Some(message) = self.beyond_limits(path, value) {
            return problem(message, None);
        }
        match value {
            Value::Array(items) => {
                let Some(rule) = &self.items else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    rule.check(&format!("{path}[{index}]"), item, problems);
                }
            }
            Value::Object(fields) => {
                let Some(rule) = &self.object else { return };
                rule.check(path, fields, problems);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Returns the limit that a value of the right type exceeds.
    fn beyond_limits(&self, path: &str, value: &Value) -> Option<String> {
        let told = || self.told(value);
        if let Some(number) = value.as_number() {
            if let Some(min) = self.min.as_ref().filter(|min| is_less(number, min)) {
                return Some(format!("`{path}` must be at least {min}, this is {}", told()));
            }
            if let Some(max) = self.max.as_ref().filter(|max| is_less(max, number)) {
                return Some(format!("`{path}` must be at most {max}, this is {}", told()));
            }
        }
        let (length, unit) = match value {
            Value::String(text) => (text.chars().count() as u64, "characters"),
            Value::Array(items) => (items.len() as u64, "items"),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        };
        if let Some(min) = self.min_length.filter(|min| length < *min) {
            return Some(format!("`{path}` must have at least {min} {unit}, this has {length}"));
        }
        if let Some(max) = self.max_length.filter(|max| *max < length) {
            return Some(format!("`{path}` must have at most {max} {unit}, this has {length}"));
        }
        let (pattern, text) = (self.pattern.as_ref()?, value.as_str()?);
        (!pattern.is_match(text))
            .then(|| format!("`{path}` must match `{pattern}`, this is {}", told()))
    }

    /// Describes a value for a message: its type and, unless it is hidden, the value.
    fn told(&self, value: &Value) -> String {
        let kind = match value {
            Value::Null => return "null".to_owned(),
            Value::Bool(_) | Value::Number(_) if self.is_hidden => "another value",
            Value::Bool(truth) => return truth.to_string(),
            Value::Number(number) => return number.to_string(),
            Value::String(_) if self.is_hidden => "another text",
            Value::String(text) => return format!("text: {}", quoted(text)),
            Value::Array(_) => "a list",
            Value::Object(_) => "a map",
        };
        kind.to_owned()
    }
}

impl ObjectRule {
    fn check(
        &self,
        path: &str,
        fields: &mut serde_json::Map<String, Value>,
        problems: &mut Vec<InputProblem>,
    ) {
        for (name, field) in &self.fields {
            let below = format!("{path}.{name}");
            if let Some(default) = field.default.as_ref().filter(|_| !fields.contains_key(name)) {
                fields.insert(name.clone(), default.clone());
            }
            match fields.get_mut(name) {
                Some(value) if !value.is_null() => field.rule.check(&below, value, problems),
                Some(_) | None if field.is_required => {
                    let message = format!("`{below}` is required: {}", field.rule.wanted());
                    problems.push(InputProblem { path: below, message, suggestion: None });
                }
                Some(_) | None => {}
            }
        }
        if self.allows_others {
            return;
        }
        for name in fields.keys().filter(|name| !self.fields.contains_key(*name)) {
            let near = nearest(name, self.fields.keys().map(String::as_str));
            problems.push(InputProblem {
                path: format!("{path}.{name}"),
                message: format!("`{path}` has no field `{name}`"),
                suggestion: near.map(str::to_owned),
            });
        }
    }
}

/// True if two values are equal; `1` and `1.0` are.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => !is_less(a, b) && !is_less(b, a),
        (a, b) => a == b,
    }
}

/// True if `a` is less than `b`; integers are compared exactly.
fn is_less(a: &Number, b: &Number) -> bool {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a < b,
        _ => a.as_f64() < b.as_f64(),
    }
}

/// Returns a value as a person would write it: text without quotation marks.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    if shown.len() < text.len() {
        let _infallible = write!(shown, "…");
    }
    format!("`{shown}`")
}
