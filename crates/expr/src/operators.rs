//! Replacements for Jinja's operators, and the checks inserted before the operators that are kept.
//!
//! The rewritten template calls these functions as filters (`syntax/guard.rs`); authors cannot use
//! their names.

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value};

use crate::bounds::{
    ARGUMENTS_MAX, DEPTH_MAX, check_length, spend_elements, spend_new_elements, spend_new_text,
    spend_text, spend_value, too_deep, too_many_elements,
};
use crate::print::to_text;
use crate::value::ValueNode;

/// Registers the operators in an environment.
pub(crate) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("__plus", plus);
    environment.add_filter("__times", times);
    environment.add_filter("__joined", joined);
    environment.add_filter("__weighed", weighed);
    environment.add_filter("__searched", searched);
    environment.add_filter("__indexed", indexed);
    environment.add_filter("__kept", kept);
    environment.add_filter("__copied", copied);
    environment.add_filter("__spread", spread);
    environment.add_filter("__required", required);
}

/// Returns the value; fails with its name if it is missing.
fn required(value: Value, name: &str) -> Result<Value, Error> {
    if value.is_undefined() { Err(missing_value(name)) } else { Ok(value) }
}

/// The error of a missing value in a template that must not read one.
pub(crate) fn missing_value(name: &str) -> Error {
    let message =
        format!("`{name}` is missing (`undefined: strict`; `default(…)` gives a default)");
    Error::new(ErrorKind::UndefinedError, message)
}

/// `left + right` for numbers, strings or lists.
pub(crate) fn plus(state: &mut State<'_, '_>, left: Value, right: Value) -> Result<Value, Error> {
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        spend_new_text(state, left.len() + right.len())?;
        return Ok(Value::from([left, right].concat()));
    }
    if is_list(&left) && is_list(&right) {
        let mut items = items(state, &left)?;
        items.extend(self::items(state, &right)?);
        if items.len() > crate::bounds::ELEMENTS_MAX {
            return Err(too_many_elements());
        }
        return Ok(Value::from(items));
    }
    arithmetic("+", &left, &right, i128::checked_add, |left, right| left + right)
}

/// `left * right` for numbers, or for a string or list repeated a number of times.
fn times(state: &mut State<'_, '_>, left: Value, right: Value) -> Result<Value, Error> {
    for (repeated, count) in [(&left, &right), (&right, &left)] {
        let Some(count) = repetitions(count) else { continue };
        if let Some(text) = repeated.as_str() {
            spend_new_text(state, text.len().saturating_mul(count))?;
            return Ok(Value::from(text.repeat(count)));
        }
        if is_list(repeated) {
            let length = repeated.len().ok_or_else(too_many_elements)?;
            spend_new_elements(state, length.saturating_mul(count))?;
            let items = items(state, repeated)?;
            let total = items.len() * count;
            return Ok(items.into_iter().cycle().take(total).collect());
        }
    }
    arithmetic("*", &left, &right, i128::checked_mul, |left, right| left * right)
}

/// `left ~ right`: both converted to text and concatenated.
fn joined(state: &mut State<'_, '_>, left: Value, right: Value) -> Result<Value, Error> {
    let (left, right) = (to_text(&left)?, to_text(&right)?);
    spend_new_text(state, left.len() + right.len())?;
    Ok(Value::from([left, right].concat()))
}

/// Charges for the whole value before a comparison or a sort.
fn weighed(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    spend_value(state, &value)?;
    Ok(value)
}

/// Charges for every item before a search (`in`). Looking up a key in a map is free.
fn searched(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => spend_text(state, value.as_str().map_or(0, str::len))?,
        ValueKind::Seq | ValueKind::Iterable => spend_elements(state, value.len().unwrap_or(0))?,
        _ => {}
    }
    Ok(value)
}

/// Charges, before an index or a slice, for the elements passed on the way to the wanted one.
fn indexed(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => spend_text(state, value.as_str().map_or(0, str::len))?,
        ValueKind::Iterable => spend_elements(state, value.len().unwrap_or(0))?,
        _ => {}
    }
    Ok(value)
}

/// Prepares a value for assignment to a name: turns an iterator into a list, and fails if the value
/// is too large or nested too deep, so that later operations can rely on the limits.
fn kept(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    let value = match value.kind() {
        ValueKind::Iterable => Value::from(items(state, &value)?),
        _ => value,
    };
    if value.downcast_object_ref::<ValueNode>().is_none() {
        spend_made(state, &value, &mut { crate::bounds::ELEMENTS_MAX }, 0)?;
    }
    Ok(value)
}

/// Charges for the text copied by a slice or a captured block.
fn copied(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    spend_text(state, value.as_str().map_or(0, str::len))?;
    kept(state, value)
}

/// Checks the argument of `*` or `**` in a call. Fails if it has more than [`ARGUMENTS_MAX`]
/// elements.
fn spread(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    let count = value.len().unwrap_or(0);
    if count > ARGUMENTS_MAX {
        let message = format!("a call has more than {ARGUMENTS_MAX} arguments");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    spend_elements(state, count)?;
    Ok(value)
}

fn spend_made(
    state: &mut State<'_, '_>,
    value: &Value,
    elements_left: &mut usize,
    depth: usize,
) -> Result<(), Error> {
    let is_data = value.downcast_object_ref::<ValueNode>().is_some();
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map if !is_data => {
            if depth >= DEPTH_MAX {
                return Err(too_deep());
            }
            check_length(value)?;
            for (_, item) in crate::print::pairs(value) {
                *elements_left = elements_left.checked_sub(1).ok_or_else(too_many_elements)?;
                spend_elements(state, 1)?;
                spend_made(state, &item, elements_left, depth + 1)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns the items of a list, the keys of a map or the characters of a string, and charges for
/// them.
pub(crate) fn items(state: &mut State<'_, '_>, value: &Value) -> Result<Vec<Value>, Error> {
    if value.is_undefined() || value.is_none() {
        return Ok(Vec::new());
    }
    check_length(value)?;
    spend_text(state, value.as_str().map_or(0, str::len))?;
    let mut items = Vec::new();
    for item in value.try_iter()?.checked() {
        spend_elements(state, 1)?;
        items.push(item?);
    }
    Ok(items)
}

pub(crate) fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

/// Returns a repeat count; a negative number counts as 0.
fn repetitions(value: &Value) -> Option<usize> {
    Some(usize::try_from(value.as_i64()?).unwrap_or(0))
}

fn arithmetic(
    sign: &str,
    left: &Value,
    right: &Value,
    whole: fn(i128, i128) -> Option<i128>,
    real: fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    let is_number = |it: &Value| matches!(it.kind(), ValueKind::Number | ValueKind::Bool);
    if !is_number(left) || !is_number(right) {
        let message = format!("`{sign}` does not work on {} and {}", left.kind(), right.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    match (i128::try_from(left.clone()), i128::try_from(right.clone())) {
        (Ok(a), Ok(b)) if !is_real(left) && !is_real(right) => {
            let result = whole(a, b).ok_or_else(|| {
                let message = format!("{left} {sign} {right} is too large");
                Error::new(ErrorKind::InvalidOperation, message)
            })?;
            Ok(i64::try_from(result).map_or_else(|_| Value::from(result), Value::from))
        }
        _ => Ok(Value::from(real(as_real(left)?, as_real(right)?))),
    }
}

fn is_real(value: &Value) -> bool {
    value.kind() == ValueKind::Number && !value.is_integer()
}

fn as_real(value: &Value) -> Result<f64, Error> {
    match value.kind() {
        ValueKind::Bool => Ok(f64::from(u8::from(value.is_true()))),
        _ => f64::try_from(value.clone()),
    }
}
