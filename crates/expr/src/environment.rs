//! The minijinja environment of all templates, with the functions and tests that they can use.

use std::sync::LazyLock;

use minijinja::value::{Kwargs, Value, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, functions, tests};

use crate::bounds::{FUEL_MAX, spend_elements, spend_new_elements, spend_new_text};
use crate::print::to_text;
use crate::{filters, methods, operators, syntax};

/// The maximum depth of nested blocks and calls while a template runs.
const RECURSION_MAX: usize = 64;

/// The functions that a template can call.
pub(crate) const FUNCTIONS: &[&str] = &["dict", "namespace", "now", "range"];
/// The variable that holds the current time; the function `now` reads it.
pub(crate) const NOW: &str = "_now";

/// The environment of single expressions; each text template has a copy that holds the template.
pub(crate) static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::empty();
    environment.set_syntax(syntax::dialect());
    environment.set_debug(false);
    environment.set_fuel(Some(FUEL_MAX));
    environment.set_recursion_limit(RECURSION_MAX);
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_unknown_method_callback(methods::call);
    environment.set_formatter(|out, state, value| {
        let text = to_text(value)?;
        spend_new_text(state, text.len())?;
        Ok(out.write_str(&text)?)
    });
    operators::add_to(&mut environment);
    filters::add_to(&mut environment);
    add_tests(&mut environment);
    environment.add_function("dict", dict);
    environment.add_function("namespace", namespace);
    environment.add_function("now", now);
    environment.add_function("range", range);
    environment
});

macro_rules! tests {
    ($($name:literal => $function:path,)*) => {
        /// The tests that a template can use.
        pub(crate) const TESTS: &[&str] = &[$($name),*];

        fn add_tests(environment: &mut Environment<'static>) {
            $(environment.add_test($name, $function);)*
        }
    };
}

tests! {
    "boolean" => tests::is_boolean,
    "defined" => tests::is_defined,
    "divisibleby" => tests::is_divisibleby,
    "endingwith" => tests::is_endingwith,
    "eq" => tests::is_eq,
    "equalto" => tests::is_eq,
    "even" => tests::is_even,
    "false" => tests::is_false,
    "float" => tests::is_float,
    "ge" => tests::is_ge,
    "greaterthan" => tests::is_gt,
    "gt" => tests::is_gt,
    "in" => tests::is_in,
    "integer" => tests::is_integer,
    "iterable" => tests::is_iterable,
    "le" => tests::is_le,
    "lessthan" => tests::is_lt,
    "lower" => tests::is_lower,
    "lt" => tests::is_lt,
    "mapping" => tests::is_mapping,
    "ne" => tests::is_ne,
    "none" => tests::is_none,
    "number" => tests::is_number,
    "odd" => tests::is_odd,
    "sameas" => tests::is_sameas,
    "sequence" => tests::is_sequence,
    "startingwith" => tests::is_startingwith,
    "string" => tests::is_string,
    "true" => tests::is_true,
    "undefined" => tests::is_undefined,
    "upper" => tests::is_upper,
}

pub(crate) fn known_filter(name: &str) -> bool {
    filters::NAMES.contains(&name)
}

pub(crate) fn known_test(name: &str) -> bool {
    TESTS.contains(&name)
}

pub(crate) fn known_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

/// Returns the known name most similar to a misspelled one, if it is at most two edits away.
pub(crate) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    const EDITS_MAX: usize = 2;
    let (edits, best) = known.iter().map(|it| (edits(name, it), *it)).min()?;
    (edits <= EDITS_MAX && edits < name.len()).then_some(best)
}

/// The edit distance (Levenshtein) between two words.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (place, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

/// The work of inserting one member into a map, in elements.
const MEMBER_WORK: usize = 4;

/// Returns a map of the given map's members and the keyword arguments.
fn dict(state: &mut State<'_, '_>, members: Option<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let count = members.as_ref().and_then(Value::len).unwrap_or(0);
    spend_new_elements(state, count)?;
    spend_elements(state, count.saturating_mul(MEMBER_WORK))?;
    functions::dict(members, kwargs)
}

/// Returns a map whose members can be assigned, also inside a loop.
fn namespace(state: &mut State<'_, '_>, members: Option<ValueOrKwargs>) -> Result<Value, Error> {
    spend_new_elements(state, members.as_ref().and_then(|it| it.len()).unwrap_or(0))?;
    functions::namespace(members)
}

/// Returns the time of the current decision as text, in UTC; a time zone argument is ignored. The
/// caller passes the time as a variable, so that rendering again gives the same result.
fn now(state: &mut State<'_, '_>, _zone: Option<Value>) -> Value {
    state.lookup(NOW).unwrap_or_default()
}

/// Returns the list of `range(stop)` or `range(start, stop, step)`.
fn range(
    state: &mut State<'_, '_>,
    first: i64,
    second: Option<i64>,
    step: Option<i64>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    kwargs.assert_all_used()?;
    let (start, stop) = second.map_or((0, first), |second| (first, second));
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "the step of a range cannot be 0"));
    }
    let distance = if step > 0 {
        i128::from(stop) - i128::from(start)
    } else {
        i128::from(start) - i128::from(stop)
    };
    let steps = i128::from(step.unsigned_abs());
    let length = if distance <= 0 { 0 } else { (distance + steps - 1) / steps };
    spend_new_elements(state, usize::try_from(length).unwrap_or(usize::MAX))?;
    let mut values = Vec::new();
    let mut at = start;
    for _ in 0..length {
        values.push(Value::from(at));
        at = at.saturating_add(step);
    }
    Ok(Value::from(values))
}
