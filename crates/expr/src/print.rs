//! Conversion of values to JSON and to text.
//!
//! In text, a list or map is one line of JSON, `true` and `false` are written as in JSON, and null
//! or a missing value is empty.

use std::borrow::Cow;
use std::fmt::{self, Write};

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};
use serde_json::{Map, Number, Value as Json};

use crate::bounds::{
    COPY_MAX, DEPTH_MAX, ELEMENTS_MAX, TEXT_MAX, check_length, copied_too_much, text_too_long,
    too_deep, too_many_elements,
};
use crate::value::ValueNode;

/// Converts the result of an expression to JSON.
pub(crate) fn to_json(value: &Value) -> Result<Json, Error> {
    Printer { elements_left: ELEMENTS_MAX, copy_left: COPY_MAX }.json(value, 0)
}

/// Converts a value to its text form.
pub(crate) fn to_text(value: &Value) -> Result<Cow<'_, str>, Error> {
    if let Some(text) = value.as_str() {
        return Ok(Cow::Borrowed(text));
    }
    Ok(match value.kind() {
        ValueKind::Undefined | ValueKind::None => Cow::Borrowed(""),
        ValueKind::Bool => Cow::Borrowed(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => Cow::Owned(number_text(value)),
        _ => Cow::Owned(to_line(value)?),
    })
}

/// Converts a value to JSON on one line.
pub(crate) fn to_line(value: &Value) -> Result<String, Error> {
    let mut text = String::new();
    write_line(&mut text, value, &mut { ELEMENTS_MAX }, 0)?;
    Ok(text)
}

/// Converts a value to JSON on several lines, each level indented by `indent` spaces.
pub(crate) fn to_lines(value: &Value, indent: usize) -> Result<String, Error> {
    let line = to_line(value)?;
    let json: Json = serde_json::from_str(&line).map_err(|_| not_data(value))?;
    let indent = " ".repeat(indent.min(INDENT_MAX));
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(&json, &mut serializer).map_err(|_| not_data(value))?;
    if bytes.len() > TEXT_MAX {
        return Err(text_too_long());
    }
    String::from_utf8(bytes).map_err(|_| not_data(value))
}

/// The maximum number of spaces per level of indented JSON.
const INDENT_MAX: usize = 8;

struct Printer {
    elements_left: usize,
    copy_left: usize,
}

impl Printer {
    fn json(&mut self, value: &Value, depth: usize) -> Result<Json, Error> {
        if let Some(node) = value.downcast_object_ref::<ValueNode>() {
            // A variable returned as a whole is not charged; inside a new value it is a copy.
            if depth > 0 {
                let size = node.size(self.copy_left);
                self.copy_left = self.copy_left.checked_sub(size).ok_or_else(copied_too_much)?;
            }
            return Ok(node.json().clone());
        }
        match value.kind() {
            ValueKind::Undefined | ValueKind::None => Ok(Json::Null),
            ValueKind::Bool => Ok(Json::Bool(value.is_true())),
            ValueKind::Number => Ok(number(value).map_or(Json::Null, Json::Number)),
            ValueKind::String | ValueKind::Bytes => {
                let text = value.to_str().ok_or_else(|| not_data(value))?;
                self.copy_left =
                    self.copy_left.checked_sub(text.len()).ok_or_else(copied_too_much)?;
                Ok(Json::String(text.as_ref().to_owned()))
            }
            ValueKind::Seq | ValueKind::Iterable => {
                self.enter(value, depth)?;
                let mut items = Vec::new();
                for item in value.try_iter()?.checked() {
                    self.count()?;
                    items.push(self.json(&item?, depth + 1)?);
                }
                Ok(Json::Array(items))
            }
            ValueKind::Map => {
                self.enter(value, depth)?;
                let mut members = Map::new();
                for (key, item) in pairs(value) {
                    self.count()?;
                    members.insert(to_text(&key)?.into_owned(), self.json(&item, depth + 1)?);
                }
                Ok(Json::Object(members))
            }
            _ => Err(not_data(value)),
        }
    }

    fn enter(&self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth >= DEPTH_MAX { Err(too_deep()) } else { check_length(value) }
    }

    fn count(&mut self) -> Result<(), Error> {
        self.elements_left = self.elements_left.checked_sub(1).ok_or_else(too_many_elements)?;
        Ok(())
    }
}

/// Appends a value to `text` as JSON. Fails if the text gets too long.
fn write_line(
    text: &mut String,
    value: &Value,
    elements_left: &mut usize,
    depth: usize,
) -> Result<(), Error> {
    if let Some(node) = value.downcast_object_ref::<ValueNode>() {
        return write_data(text, node.json());
    }
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => text.push_str("null"),
        ValueKind::Bool => text.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => match number(value) {
            Some(number) => write!(text, "{number}")?,
            None => text.push_str("null"),
        },
        ValueKind::String | ValueKind::Bytes => {
            let string = value.to_str().ok_or_else(|| not_data(value))?;
            write_data(text, &Json::String(string.as_ref().to_owned()))?;
        }
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            if depth >= DEPTH_MAX {
                return Err(too_deep());
            }
            check_length(value)?;
            let is_map = value.kind() == ValueKind::Map;
            text.push(if is_map { '{' } else { '[' });
            for (place, (key, item)) in pairs(value).enumerate() {
                *elements_left = elements_left.checked_sub(1).ok_or_else(too_many_elements)?;
                if place > 0 {
                    text.push(',');
                }
                if is_map {
                    write_data(text, &Json::String(to_text(&key)?.into_owned()))?;
                    text.push(':');
                }
                write_line(text, &item, elements_left, depth + 1)?;
            }
            text.push(if is_map { '}' } else { ']' });
        }
        _ => return Err(not_data(value)),
    }
    if text.len() > TEXT_MAX { Err(text_too_long()) } else { Ok(()) }
}

fn write_data(text: &mut String, json: &Json) -> Result<(), Error> {
    write!(BoundedText(text), "{json}").map_err(|_| text_too_long())
}

/// A writer into a string that fails beyond [`TEXT_MAX`] bytes.
struct BoundedText<'t>(&'t mut String);

impl Write for BoundedText<'_> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.0.len() + more.len() > TEXT_MAX {
            return Err(fmt::Error);
        }
        self.0.push_str(more);
        Ok(())
    }
}

/// Returns the members of a map, or the items of a list with their indexes.
pub(crate) fn pairs(value: &Value) -> impl Iterator<Item = (Value, Value)> + use<> {
    value.as_object().and_then(|it| it.try_iter_pairs()).into_iter().flatten()
}

fn number(value: &Value) -> Option<Number> {
    if !value.is_integer() {
        return f64::try_from(value.clone()).ok().and_then(Number::from_f64);
    }
    let whole = i128::try_from(value.clone()).ok();
    let exact = whole.and_then(Number::from_i128);
    exact.or_else(|| f64::try_from(value.clone()).ok().and_then(Number::from_f64))
}

fn number_text(value: &Value) -> String {
    number(value).map_or_else(|| value.to_string(), |it| it.to_string())
}

fn not_data(value: &Value) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("a {} is not a value", value.kind()))
}
