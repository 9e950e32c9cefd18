//! Filters on lists and maps.

use minijinja::value::{Rest, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

use crate::bounds::{spend_elements, spend_new_elements, spend_new_text, spend_text};
use crate::operators;
use crate::print::pairs;

pub(super) fn length(state: &mut State<'_, '_>, value: &Value) -> Result<usize, Error> {
    if value.is_undefined() || value.is_none() {
        return Ok(0);
    }
    // Counts characters, not bytes, which takes time proportional to the length of the text.
    spend_text(state, value.as_str().map_or(0, str::len))?;
    value.len().ok_or_else(|| {
        let message = format!("a {} has no length", value.kind());
        Error::new(ErrorKind::InvalidOperation, message)
    })
}

pub(super) fn first(value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(Value::UNDEFINED),
        _ => Ok(value.try_iter()?.next().unwrap_or_default()),
    }
}

pub(super) fn last(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(Value::UNDEFINED),
        ValueKind::Seq => match value.len() {
            Some(length) if length > 0 => value.get_item_by_index(length - 1),
            Some(_) | None => Ok(Value::UNDEFINED),
        },
        ValueKind::String => Ok(value
            .as_str()
            .and_then(|it| it.chars().next_back())
            .map_or(Value::UNDEFINED, Value::from)),
        _ => Ok(operators::items(state, value)?.pop().unwrap_or_default()),
    }
}

pub(super) fn list(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    Ok(Value::from(operators::items(state, value)?))
}

pub(super) fn reverse(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        spend_new_text(state, text.len())?;
        return Ok(Value::from(text.chars().rev().collect::<String>()));
    }
    let mut items = operators::items(state, value)?;
    items.reverse();
    Ok(Value::from(items))
}

pub(crate) fn keys(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    Ok(members(state, value)?.into_iter().map(|(key, _)| key).collect())
}

pub(crate) fn values(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    Ok(members(state, value)?.into_iter().map(|(_, item)| item).collect())
}

/// Returns the members of a map as a list of pairs.
pub(crate) fn items(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    Ok(members(state, value)?.into_iter().map(|(key, item)| Value::from(vec![key, item])).collect())
}

fn members(state: &mut State<'_, '_>, value: &Value) -> Result<Vec<(Value, Value)>, Error> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(Vec::new()),
        ValueKind::Map => {
            spend_elements(state, value.len().unwrap_or(0))?;
            Ok(pairs(value).collect())
        }
        other => {
            let message = format!("a {other} has no keys");
            Err(Error::new(ErrorKind::InvalidOperation, message))
        }
    }
}

/// Returns an attribute of an item; `path` may contain dots and list indexes.
pub(super) fn attribute(item: &Value, path: &str) -> Value {
    path.split('.').fold(item.clone(), |value, key| match key.parse::<usize>() {
        Ok(index) => value.get_item(&Value::from(index)).unwrap_or_default(),
        Err(_) => value.get_attr(key).unwrap_or_default(),
    })
}

/// Splits a list into lists of `count` items; the last one is padded with `fill` if given.
pub(super) fn batch(
    state: &mut State<'_, '_>,
    value: &Value,
    count: usize,
    fill: Option<Value>,
) -> Result<Value, Error> {
    check_count(count)?;
    let items = operators::items(state, value)?;
    let mut batches: Vec<Vec<Value>> = items.chunks(count).map(<[Value]>::to_vec).collect();
    if let (Some(last), Some(fill)) = (batches.last_mut(), fill) {
        spend_new_elements(state, count)?;
        last.resize(count, fill);
    }
    Ok(batches.into_iter().map(Value::from).collect())
}

/// Splits a list into `count` lists of about the same length; the shorter ones are padded with
/// `fill` if given.
pub(super) fn slice(
    state: &mut State<'_, '_>,
    value: &Value,
    count: usize,
    fill: Option<Value>,
) -> Result<Value, Error> {
    check_count(count)?;
    spend_new_elements(state, count)?;
    let items = operators::items(state, value)?;
    let (each, longer) = (items.len() / count, items.len() % count);
    let mut rest = items.into_iter();
    let slices = (0..count).map(|place| {
        let mut slice: Vec<Value> =
            rest.by_ref().take(each + usize::from(place < longer)).collect();
        if place >= longer {
            slice.extend(fill.clone());
        }
        Value::from(slice)
    });
    Ok(slices.collect())
}

/// Concatenates lists, or merges maps; a later member replaces an earlier one.
pub(super) fn chain(
    state: &mut State<'_, '_>,
    value: Value,
    others: Rest<Value>,
) -> Result<Value, Error> {
    let all: Vec<Value> = std::iter::once(value).chain(others.iter().cloned()).collect();
    if all.iter().all(|it| it.kind() == ValueKind::Map) {
        let mut merged = Vec::new();
        for map in &all {
            merged.extend(members(state, map)?);
        }
        spend_new_elements(state, merged.len())?;
        return Ok(Value::from_pairs(merged));
    }
    let mut items = Vec::new();
    for list in &all {
        items.extend(operators::items(state, list)?);
    }
    spend_new_elements(state, items.len())?;
    Ok(Value::from(items))
}

/// Returns lists of the first, second, … items of each list, up to the length of the shortest.
pub(super) fn zip(
    state: &mut State<'_, '_>,
    value: Value,
    others: Rest<Value>,
) -> Result<Value, Error> {
    let mut columns = vec![operators::items(state, &value)?];
    for other in others.iter() {
        columns.push(operators::items(state, other)?);
    }
    let length = columns.iter().map(Vec::len).min().unwrap_or(0);
    spend_new_elements(state, length.saturating_mul(columns.len()))?;
    let row = |place: usize| Value::from_iter(columns.iter().map(|it| it[place].clone()));
    Ok((0..length).map(row).collect())
}

fn check_count(count: usize) -> Result<(), Error> {
    match count {
        0 => Err(Error::new(ErrorKind::InvalidOperation, "the count cannot be 0")),
        _ => Ok(()),
    }
}
