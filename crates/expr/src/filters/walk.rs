//! The minijinja filters that traverse a list, with their work charged before they start.
//!
//! A selection charges for every item, and for the value that each item is compared with. A sort
//! charges for all values that are compared.

use std::borrow::Cow;

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Error, State, Value, filters};

use crate::bounds::{spend_elements, spend_text, spend_value};
use crate::operators::items;

type FilterArguments = Rest<ValueOrKwargs>;
type TestName<'a> = Option<Cow<'a, str>>;

pub(super) fn map(
    state: &mut State<'_, '_>,
    value: Value,
    arguments: FilterArguments,
) -> Result<Vec<Value>, Error> {
    spend_choice(state, &value, &arguments)?;
    filters::map(state, value, arguments)
}

pub(super) fn select(
    state: &mut State<'_, '_>,
    value: Value,
    test: TestName<'_>,
    arguments: FilterArguments,
) -> Result<Vec<Value>, Error> {
    spend_choice(state, &value, &arguments)?;
    filters::select(state, value, test, arguments)
}

pub(super) fn reject(
    state: &mut State<'_, '_>,
    value: Value,
    test: TestName<'_>,
    arguments: FilterArguments,
) -> Result<Vec<Value>, Error> {
    spend_choice(state, &value, &arguments)?;
    filters::reject(state, value, test, arguments)
}

pub(super) fn selectattr(
    state: &mut State<'_, '_>,
    value: Value,
    attribute: Cow<'_, str>,
    test: TestName<'_>,
    arguments: FilterArguments,
) -> Result<Vec<Value>, Error> {
    spend_choice(state, &value, &arguments)?;
    filters::selectattr(state, value, attribute, test, arguments)
}

pub(super) fn rejectattr(
    state: &mut State<'_, '_>,
    value: Value,
    attribute: Cow<'_, str>,
    test: TestName<'_>,
    arguments: FilterArguments,
) -> Result<Vec<Value>, Error> {
    spend_choice(state, &value, &arguments)?;
    filters::rejectattr(state, value, attribute, test, arguments)
}

pub(super) fn sort(
    state: &mut State<'_, '_>,
    value: Value,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    spend_comparison(state, &value, kwargs.peek("attribute")?)?;
    filters::sort(state, value, kwargs)
}

pub(super) fn unique(
    state: &mut State<'_, '_>,
    value: Value,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    spend_comparison(state, &value, kwargs.peek("attribute")?)?;
    filters::unique(state, value, kwargs)
}

pub(super) fn min(state: &mut State<'_, '_>, value: Value, kwargs: Kwargs) -> Result<Value, Error> {
    spend_comparison(state, &value, kwargs.peek("attribute")?)?;
    filters::min(state, value, kwargs)
}

pub(super) fn max(state: &mut State<'_, '_>, value: Value, kwargs: Kwargs) -> Result<Value, Error> {
    spend_comparison(state, &value, kwargs.peek("attribute")?)?;
    filters::max(state, value, kwargs)
}

pub(super) fn groupby(
    state: &mut State<'_, '_>,
    value: Value,
    attribute: Option<&str>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let named = kwargs.peek::<Option<&str>>("attribute")?;
    spend_comparison(state, &value, attribute.or(named))?;
    filters::groupby(value, attribute, kwargs)
}

pub(super) fn dictsort(
    state: &mut State<'_, '_>,
    value: &Value,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    spend_value(state, value)?;
    filters::dictsort(value, kwargs)
}

fn spend_choice(
    state: &mut State<'_, '_>,
    value: &Value,
    arguments: &[ValueOrKwargs],
) -> Result<(), Error> {
    let count = value.len().unwrap_or(0);
    spend_text(state, value.as_str().map_or(0, str::len))?;
    spend_elements(state, count)?;
    for argument in arguments {
        spend_value(state, argument)?;
        let length = match argument.kind() {
            ValueKind::String => argument.as_str().map_or(0, str::len),
            ValueKind::Seq | ValueKind::Iterable => argument.len().unwrap_or(0),
            _ => 0,
        };
        spend_text(state, count.saturating_mul(length))?;
    }
    Ok(())
}

fn spend_comparison(
    state: &mut State<'_, '_>,
    value: &Value,
    attributes: Option<&str>,
) -> Result<(), Error> {
    let Some(attributes) = attributes else { return spend_value(state, value) };
    for item in items(state, value)? {
        for attribute in attributes.split(',') {
            spend_value(state, &super::list::attribute(&item, attribute.trim()))?;
        }
    }
    Ok(())
}
