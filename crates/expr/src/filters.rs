//! The filters that templates can use.
//!
//! A missing value is not an error: its length is 0, its number the default, and it has no items.
//! Filters charge the meter for the values they make.

pub(crate) mod list;
mod number;
mod parameters;
pub(crate) mod text;
mod walk;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

pub(crate) use parameters::fault_of;

use crate::bounds::{spend_new_text, spend_text};
use crate::print::{to_line, to_lines, to_text};
use crate::value::from_json;

macro_rules! filters {
    ($($name:literal => $function:path,)*) => {
        /// The filters that a template can use.
        pub(crate) const NAMES: &[&str] = &[$($name),*];

        /// Registers the filters in an environment.
        pub(crate) fn add_to(environment: &mut Environment<'static>) {
            $(environment.add_filter($name, $function);)*
        }
    };
}

filters! {
    "abs" => filters::abs,
    "attr" => get,
    "b64decode" => text::b64decode,
    "b64encode" => text::b64encode,
    "batch" => list::batch,
    "bool" => filters::bool,
    "capitalize" => text::capitalize,
    "center" => text::center,
    "chain" => list::chain,
    "count" => list::length,
    "d" => default,
    "default" => default,
    "dictsort" => walk::dictsort,
    "e" => text::escape,
    "escape" => text::escape,
    "first" => list::first,
    "float" => number::float,
    "format" => text::format,
    "fromjson" => fromjson,
    "get" => get,
    "groupby" => walk::groupby,
    "indent" => text::indent,
    "int" => number::int,
    "items" => list::items,
    "join" => text::join,
    "keys" => list::keys,
    "last" => list::last,
    "len" => list::length,
    "length" => list::length,
    "lines" => text::lines,
    "list" => list::list,
    "lower" => text::lower,
    "map" => walk::map,
    "max" => walk::max,
    "min" => walk::min,
    "pprint" => text::string,
    "reject" => walk::reject,
    "rejectattr" => walk::rejectattr,
    "replace" => text::replace,
    "reverse" => list::reverse,
    "round" => filters::round,
    "safe" => same,
    "select" => walk::select,
    "selectattr" => walk::selectattr,
    "shell_quote" => text::shell_quote,
    "slice" => list::slice,
    "sort" => walk::sort,
    "split" => text::split,
    "string" => text::string,
    "sum" => number::sum,
    "title" => text::title,
    "tojson" => tojson,
    "trim" => text::trim,
    "truncate" => text::truncate,
    "unique" => walk::unique,
    "upper" => text::upper,
    "urlencode" => text::urlencode,
    "values" => list::values,
    "wordcount" => text::wordcount,
    "zip" => list::zip,
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
