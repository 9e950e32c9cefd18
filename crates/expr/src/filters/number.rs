//! Filters that return numbers.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

use crate::operators::{items, plus};

/// Converts a value to an integer; returns the default, or 0, if it is not a number.
pub(super) fn int(value: &Value, default: Option<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let default = default_of(default, &kwargs)?;
    kwargs.assert_all_used()?;
    Ok(match value.kind() {
        ValueKind::Bool => Some(Value::from(i64::from(value.is_true()))),
        ValueKind::Number if value.is_integer() => Some(value.clone()),
        ValueKind::Number => f64::try_from(value.clone()).ok().and_then(whole),
        ValueKind::String => value.as_str().and_then(|text| {
            let text = text.trim();
            let exact = text.parse::<i64>().ok().map(Value::from);
            exact.or_else(|| text.parse::<f64>().ok().and_then(whole))
        }),
        _ => None,
    }
    .unwrap_or_else(|| default.unwrap_or_else(|| Value::from(0))))
}

/// Converts a value to a float; returns the default, or 0.0, if it is not a number.
pub(super) fn float(value: &Value, default: Option<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let default = default_of(default, &kwargs)?;
    kwargs.assert_all_used()?;
    Ok(match value.kind() {
        ValueKind::Bool => Some(f64::from(u8::from(value.is_true()))),
        ValueKind::Number => f64::try_from(value.clone()).ok(),
        ValueKind::String => value.as_str().and_then(|text| text.trim().parse().ok()),
        _ => None,
    }
    .filter(|it| it.is_finite())
    .map(Value::from)
    .unwrap_or_else(|| default.unwrap_or_else(|| Value::from(0.0))))
}

/// Returns the sum of a list, or of one attribute of its items. Missing values are skipped.
pub(super) fn sum(
    state: &mut State<'_, '_>,
    value: Value,
    attribute: Option<&str>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let attribute = match attribute {
        Some(attribute) => Some(attribute),
        None => kwargs.get::<Option<&str>>("attribute")?,
    };
    let start = kwargs.get::<Option<Value>>("start")?.unwrap_or_else(|| Value::from(0));
    kwargs.assert_all_used()?;
    if start.kind() != ValueKind::Number {
        return Err(Error::new(ErrorKind::InvalidOperation, "`sum` adds numbers only"));
    }
    let mut total = start;
    for item in items(state, &value)? {
        let item = match attribute {
            Some(attribute) => super::list::attribute(&item, attribute),
            None => item,
        };
        if !item.is_undefined() && !item.is_none() {
            total = plus(state, total, item)?;
        }
    }
    Ok(total)
}

fn default_of(default: Option<Value>, kwargs: &Kwargs) -> Result<Option<Value>, Error> {
    match default {
        Some(default) => Ok(Some(default)),
        None => kwargs.get::<Option<Value>>("default"),
    }
}

/// Returns the integer part of a number, if it fits into an `i64`.
fn whole(number: f64) -> Option<Value> {
    const LIMIT: f64 = 9.2e18;
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let convert = |it: f64| it as i64;
    (number.abs() < LIMIT).then(|| Value::from(convert(number.trunc())))
}
