//! Methods in the style of Python, for authors who expect them.
//!
//! A method never hides a member of a map: `m.items` is the member, `m.items()` the method.

use minijinja::value::{ValueKind, from_args};
use minijinja::{Error, ErrorKind, State, Value};

use crate::bounds::{spend_new_text, spend_value};
use crate::filters::{list, text};
use crate::operators;

/// The methods of texts, lists and maps, in alphabetical order.
pub(crate) const NAMES: &[&str] = &[
    "capitalize",
    "count",
    "endswith",
    "find",
    "format",
    "get",
    "index",
    "isalpha",
    "isdigit",
    "isoformat",
    "items",
    "join",
    "keys",
    "lower",
    "lstrip",
    "replace",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strftime",
    "strip",
    "title",
    "upper",
    "values",
    "zfill",
];

/// Calls a method that minijinja does not provide.
pub(crate) fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => on_text(state, value, name, arguments),
        ValueKind::Map => on_map(state, value, name, arguments),
        ValueKind::Seq | ValueKind::Iterable => on_list(state, value, name, arguments),
        // A method of a missing value returns a missing value, as an attribute does.
        ValueKind::Undefined | ValueKind::None => Ok(match (name, arguments) {
            ("get", [_, other]) => other.clone(),
            _ => Value::UNDEFINED,
        }),
        _ => Err(unknown()),
    }
}

fn on_map(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    match name {
        "get" => {
            let (key, other): (&Value, Option<Value>) = from_args(arguments)?;
            let found = value.get_item(key)?;
            let other = other.unwrap_or_else(|| Value::from(()));
            Ok(if found.is_undefined() { other } else { found })
        }
        "items" => list::items(state, value),
        "keys" => list::keys(state, value),
        "values" => list::values(state, value),
        _ => Err(unknown()),
    }
}

fn on_list(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    match name {
        "index" | "count" => {
            let (wanted,): (&Value,) = from_args(arguments)?;
            spend_value(state, value)?;
            let items = operators::items(state, value)?;
            if name == "count" {
                return Ok(Value::from(items.iter().filter(|it| *it == wanted).count()));
            }
            let place = items.iter().position(|it| it == wanted).ok_or_else(|| {
                Error::new(ErrorKind::InvalidOperation, "`index` did not find the value")
            })?;
            Ok(Value::from(place))
        }
        _ => Err(unknown()),
    }
}

fn on_text(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    match name {
        "lower" => text::lower(state, value),
        "upper" => text::upper(state, value),
        "title" => text::title(state, value),
        "capitalize" => text::capitalize(state, value),
        "splitlines" => text::lines(state, value),
        "split" => {
            let (separator, count): (Option<Value>, Option<i64>) = from_args(arguments)?;
            text::split(state, value, separator, count)
        }
        "format" => {
            let pattern = text::read(state, value)?;
            let filled = fill(&pattern, arguments)?;
            spend_new_text(state, filled.len())?;
            Ok(Value::from(filled))
        }
        "join" => {
            let (list,): (&Value,) = from_args(arguments)?;
            let items = operators::items(state, list)?;
            let joined = text::joined(items.into_iter(), &text::read(state, value)?)?;
            spend_new_text(state, joined.len())?;
            Ok(Value::from(joined))
        }
        "replace" => {
            let (from, to, count): (&str, &str, Option<i64>) = from_args(arguments)?;
            let count = count.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
            let replaced = text::replaced(&text::read(state, value)?, from, to, count)?;
            spend_new_text(state, replaced.len())?;
            Ok(Value::from(replaced))
        }
        _ => {
            let text = text::read(state, value)?;
            on_plain_text(state, &text, name, arguments)
        }
    }
}

fn on_plain_text(
    state: &mut State<'_, '_>,
    text: &str,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let (characters,): (Option<&str>,) = from_args(arguments)?;
            let stripped = |it: char| characters.map_or(it.is_whitespace(), |all| all.contains(it));
            let text = if name == "rstrip" { text } else { text.trim_start_matches(stripped) };
            let text = if name == "lstrip" { text } else { text.trim_end_matches(stripped) };
            spend_new_text(state, text.len())?;
            Ok(Value::from(text))
        }
        "startswith" => {
            let (prefix,): (&Value,) = from_args(arguments)?;
            Ok(Value::from(any_of(state, prefix, |it| text.starts_with(it))?))
        }
        "endswith" => {
            let (suffix,): (&Value,) = from_args(arguments)?;
            Ok(Value::from(any_of(state, suffix, |it| text.ends_with(it))?))
        }
        "rsplit" => {
            let (separator, count): (&str, Option<i64>) = from_args(arguments)?;
            let count = count.and_then(|it| usize::try_from(it).ok());
            let count = count.map_or(usize::MAX, |it| it.saturating_add(1));
            let mut parts: Vec<Value> = text.rsplitn(count, separator).map(Value::from).collect();
            parts.reverse();
            crate::bounds::spend_new_elements(state, parts.len())?;
            Ok(Value::from(parts))
        }
        "find" => {
            let (wanted,): (&str,) = from_args(arguments)?;
            let place = text.find(wanted).map(|at| text[..at].chars().count());
            Ok(place.map_or_else(|| Value::from(-1), Value::from))
        }
        "count" => {
            let (wanted,): (&str,) = from_args(arguments)?;
            Ok(Value::from(text.matches(wanted).count()))
        }
        // A time is already a string in ISO format.
        "isoformat" => Ok(Value::from(text)),
        "strftime" => {
            let (pattern,): (&str,) = from_args(arguments)?;
            let written = written(text, pattern)?;
            spend_new_text(state, written.len())?;
            Ok(Value::from(written))
        }
        "isdigit" => Ok(Value::from(is_all(text, |it| it.is_ascii_digit()))),
        "isalpha" => Ok(Value::from(is_all(text, char::is_alphabetic))),
        "zfill" => {
            let (width,): (usize,) = from_args(arguments)?;
            spend_new_text(state, width)?;
            let (sign, digits) = match text.strip_prefix(['-', '+']) {
                Some(digits) => text.split_at(text.len() - digits.len()),
                None => ("", text),
            };
            let zeros = width.saturating_sub(text.chars().count());
            Ok(Value::from(format!("{sign}{}{digits}", "0".repeat(zeros))))
        }
        _ => Err(unknown()),
    }
}

/// Formats a time such as `2026-01-31T09:30:00.5Z` with a `strftime` pattern.
fn written(time: &str, pattern: &str) -> Result<String, Error> {
    let wrong = |told: String| Error::new(ErrorKind::InvalidOperation, told);
    let parts: Vec<&str> = time.split(|c: char| !c.is_ascii_digit()).collect();
    let [year, month, day, hour, minute, second, fraction, ..] = &parts[..] else {
        return Err(wrong(format!("`{time}` is not a time")));
    };
    let mut written = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            written.push(letter);
            continue;
        }
        match letters.next() {
            Some('Y') => written.push_str(year),
            Some('y') => written.push_str(year.get(2..).unwrap_or(year)),
            Some('m') => written.push_str(month),
            Some('d') => written.push_str(day),
            Some('H') => written.push_str(hour),
            Some('M') => written.push_str(minute),
            Some('S') => written.push_str(second),
            Some('f') => written.push_str(&format!("{fraction:0<6}")),
            Some('F') => written.push_str(&format!("{year}-{month}-{day}")),
            Some('T') => written.push_str(&format!("{hour}:{minute}:{second}")),
            Some('z') => written.push_str("+0000"),
            Some('Z') => written.push_str("UTC"),
            Some('%') => written.push('%'),
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return Err(wrong(format!("`%{other}` is not a part of a time")));
            }
        }
    }
    Ok(written)
}

/// True if `holds` is true for a string, or for any string of a list.
fn any_of(
    state: &mut State<'_, '_>,
    choices: &Value,
    holds: impl Fn(&str) -> bool,
) -> Result<bool, Error> {
    if let Some(choice) = choices.as_str() {
        return Ok(holds(choice));
    }
    let choices = operators::items(state, choices)?;
    Ok(choices.iter().filter_map(Value::as_str).any(holds))
}

fn is_all(text: &str, holds: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(holds)
}

/// Replaces `{}`, `{0}` and `{name}` in a pattern by arguments.
fn fill(pattern: &str, arguments: &[Value]) -> Result<String, Error> {
    let bad = || Error::new(ErrorKind::InvalidOperation, "`format` cannot read its braces");
    let (places, names): (&[Value], minijinja::value::Kwargs) = from_args(arguments)?;
    let mut text = String::new();
    let mut rest = pattern;
    let mut next = 0;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            text.push_str(brace);
            rest = after;
            continue;
        }
        let (field, after) = rest.split_once('}').filter(|_| brace == "{").ok_or_else(bad)?;
        rest = after;
        let value = if field.is_empty() {
            next += 1;
            places.get(next - 1).cloned()
        } else {
            let by_place = field.parse::<usize>().ok().and_then(|it| places.get(it).cloned());
            by_place.or_else(|| names.get::<Value>(field).ok())
        };
        let value = value.ok_or_else(|| {
            let message = format!("`format` was given nothing for `{{{field}}}`");
            Error::new(ErrorKind::MissingArgument, message)
        })?;
        text.push_str(&crate::print::to_text(&value)?);
        if text.len() > crate::bounds::TEXT_MAX {
            return Err(crate::bounds::text_too_long());
        }
    }
    text.push_str(rest);
    Ok(text)
}

fn unknown() -> Error {
    Error::from(ErrorKind::UnknownMethod)
}
