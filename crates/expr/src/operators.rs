//! What stands in for Jinja's operators, and the checks put before those that stay.
//!
//! The rewritten template calls these as filters (`syntax/guard.rs`); no author can name them.

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value};

use crate::bounds::{
    ARGUMENTS_MAX, DEPTH_MAX, allow_elements, allow_text, check_length, spend_elements, spend_text,
    spend_value, too_deep, too_many_elements,
};
use crate::print::to_text;
use crate::value::Node;

/// Makes them known to an environment.
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
}

/// `left + right`: numbers, texts or lists.
pub(crate) fn plus(state: &mut State<'_, '_>, left: Value, right: Value) -> Result<Value, Error> {
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        allow_text(state, left.len() + right.len())?;
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

/// `left * right`: numbers, or a text or list so many times over.
fn times(state: &mut State<'_, '_>, left: Value, right: Value) -> Result<Value, Error> {
    for (repeated, count) in [(&left, &right), (&right, &left)] {
        let Some(count) = repetitions(count) else { continue };
        if let Some(text) = repeated.as_str() {
            allow_text(state, text.len().saturating_mul(count))?;
            return Ok(Value::from(text.repeat(count)));
        }
        if is_list(repeated) {
            let length = repeated.len().ok_or_else(too_many_elements)?;
            allow_elements(state, length.saturating_mul(count))?;
            let items = items(state, repeated)?;
            let total = items.len() * count;
            return Ok(items.into_iter().cycle().take(total).collect());
        }
    }
    arithmetic("*", &left, &right, i128::checked_mul, |left, right| left * right)
}

/// `left ~ right`: both as text.
fn joined(state: &mut State<'_, '_>, left: Value, right: Value) -> Result<Value, Error> {
    let (left, right) = (to_text(&left)?, to_text(&right)?);
    allow_text(state, left.len() + right.len())?;
    Ok(Value::from([left, right].concat()))
}

/// Before a comparison or a sort: charges for all of the value.
fn weighed(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    spend_value(state, &value)?;
    Ok(value)
}

/// Before a search: charges for every item; a map is not searched but looked up in.
fn searched(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => spend_text(state, value.as_str().map_or(0, str::len))?,
        ValueKind::Seq | ValueKind::Iterable => spend_elements(state, value.len().unwrap_or(0))?,
        _ => {}
    }
    Ok(value)
}

/// Before an index or a slice: charges for what is counted through to get there.
fn indexed(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => spend_text(state, value.as_str().map_or(0, str::len))?,
        ValueKind::Iterable => spend_elements(state, value.len().unwrap_or(0))?,
        _ => {}
    }
    Ok(value)
}

/// Before a value gets a name: makes lists of what is only a promise, and refuses a value that
/// has grown too large or too deep, so that no later step meets one.
fn kept(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    let value = match value.kind() {
        ValueKind::Iterable => Value::from(items(state, &value)?),
        _ => value,
    };
    if value.downcast_object_ref::<Node>().is_none() {
        spend_made(state, &value, &mut { crate::bounds::ELEMENTS_MAX }, 0)?;
    }
    Ok(value)
}

/// Behind a slice or a captured block: charges for the text it has copied.
fn copied(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    spend_text(state, value.as_str().map_or(0, str::len))?;
    kept(state, value)
}

/// Behind `*` and `**`: refuses more arguments than anyone would write.
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
    let is_data = value.downcast_object_ref::<Node>().is_some();
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

/// The items of a list, charged for; of a map its keys, of a text its characters.
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

/// How often something is repeated; less than never is never.
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
