//! The filters that templates can use.
//!
//! A missing value is not an error: its length is 0, its number the default, and it has no items.
//! Filters charge the meter for the values they make.

pub(crate) mod list;
mod number;
pub(crate) mod text;
mod walk;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

use crate::bounds::{spend_new_text, spend_text};
use crate::print::{to_line, to_lines, to_text};
use crate::value::from_json;

/// The numbers of arguments that a filter accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arity {
    pub(crate) min: usize,
    pub(crate) max: usize,
}

/// The maximum of a filter that accepts any number of arguments.
const MANY: usize = usize::MAX;

macro_rules! filters {
    ($($name:literal ($min:expr, $max:expr) => $function:path,)*) => {
        /// The filters that a template can use.
        pub(crate) const NAMES: &[&str] = &[$($name),*];

        /// Returns the numbers of arguments that a filter accepts besides the value itself.
        pub(crate) fn arity_of(name: &str) -> Option<Arity> {
            match name {
                $($name => Some(Arity { min: $min, max: $max }),)*
                _ => None,
            }
        }

        /// Registers the filters in an environment.
        pub(crate) fn add_to(environment: &mut Environment<'static>) {
            $(environment.add_filter($name, $function);)*
        }
    };
}

filters! {
    "abs" (0, 0) => filters::abs,
    "attr" (1, 2) => get,
    "b64decode" (0, 0) => text::b64decode,
    "b64encode" (0, 0) => text::b64encode,
    "batch" (1, 2) => list::batch,
    "bool" (0, 0) => filters::bool,
    "capitalize" (0, 0) => text::capitalize,
    "center" (0, 1) => text::center,
    "chain" (0, MANY) => list::chain,
    "count" (0, 0) => list::length,
    "d" (0, 2) => default,
    "default" (0, 2) => default,
    "dictsort" (0, 3) => walk::dictsort,
    "e" (0, 0) => text::escape,
    "escape" (0, 0) => text::escape,
    "first" (0, 0) => list::first,
    "float" (0, 1) => number::float,
    "format" (0, MANY) => text::format,
    "fromjson" (0, 0) => fromjson,
    "get" (1, 2) => get,
    "groupby" (1, 3) => walk::groupby,
    "indent" (0, 3) => text::indent,
    "int" (0, 2) => number::int,
    "items" (0, 0) => list::items,
    "join" (0, 2) => text::join,
    "keys" (0, 0) => list::keys,
    "last" (0, 0) => list::last,
    "len" (0, 0) => list::length,
    "length" (0, 0) => list::length,
    "lines" (0, 0) => text::lines,
    "list" (0, 0) => list::list,
    "lower" (0, 0) => text::lower,
    "map" (1, MANY) => walk::map,
    "max" (0, MANY) => walk::max,
    "min" (0, MANY) => walk::min,
    "pprint" (0, 0) => text::string,
    "reject" (0, MANY) => walk::reject,
    "rejectattr" (1, MANY) => walk::rejectattr,
    "replace" (2, 2) => text::replace,
    "reverse" (0, 0) => list::reverse,
    "round" (0, 1) => filters::round,
    "safe" (0, 0) => same,
    "select" (0, MANY) => walk::select,
    "selectattr" (1, MANY) => walk::selectattr,
    "shell_quote" (0, 0) => text::shell_quote,
    "slice" (1, 2) => list::slice,
    "sort" (0, 3) => walk::sort,
    "split" (0, 2) => text::split,
    "string" (0, 0) => text::string,
    "sum" (0, 2) => number::sum,
    "title" (0, 0) => text::title,
    "tojson" (0, 1) => tojson,
    "trim" (0, 1) => text::trim,
    "truncate" (0, 4) => text::truncate,
    "unique" (0, 2) => walk::unique,
    "upper" (0, 0) => text::upper,
    "urlencode" (0, 0) => text::urlencode,
    "values" (0, 0) => list::values,
    "wordcount" (0, 0) => text::wordcount,
    "zip" (0, MANY) => list::zip,
}

/// Returns the value, or `other` if the value is missing; with `true`, also if it is empty, zero or
/// null.
fn default(
    value: Value,
    other: Option<Value>,
    lax: Option<bool>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let lax = match lax {
        Some(lax) => lax,
        None => kwargs.get::<Option<bool>>("boolean")?.unwrap_or(false),
    };
    kwargs.assert_all_used()?;
    let is_missing = value.is_undefined() || (lax && !value.is_true());
    Ok(if is_missing { other.unwrap_or_else(|| Value::from("")) } else { value })
}

/// Returns the value unchanged. Output is never escaped, so filters such as `safe` do nothing.
fn same(value: Value) -> Value {
    value
}

/// Returns a member or item, or `other` if it is missing.
fn get(value: &Value, key: &Value, other: Option<Value>) -> Value {
    let found = value.get_item(key).unwrap_or_default();
    if found.is_undefined() { other.unwrap_or_default() } else { found }
}

/// Returns JSON on one line, or on several lines if `indent` is given.
fn tojson(
    state: &mut State<'_, '_>,
    value: Value,
    indent: Option<Value>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let indent = match indent {
        Some(indent) => Some(indent),
        None => kwargs.get::<Option<Value>>("indent")?,
    };
    kwargs.assert_all_used()?;
    let spaces = match indent {
        None => None,
        Some(indent) if indent.kind() == ValueKind::Bool => indent.is_true().then_some(2),
        Some(indent) => indent.as_usize(),
    };
    let text = match spaces {
        Some(spaces) => to_lines(&value, spaces)?,
        None => to_line(&value)?,
    };
    spend_new_text(state, text.len())?;
    Ok(Value::from(text))
}

/// Parses JSON text; returns any other value unchanged.
fn fromjson(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    if value.as_str().is_none() && !value.is_none() && !value.is_undefined() {
        return Ok(value);
    }
    let text = to_text(&value)?;
    spend_text(state, text.len())?;
    let json = serde_json::from_str(&text).map_err(|error| {
        Error::new(ErrorKind::InvalidOperation, format!("`fromjson` was given no JSON: {error}"))
    })?;
    Ok(from_json(json))
}
