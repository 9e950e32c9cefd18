//! Filters on text. Arguments are converted to text first.

use std::borrow::Cow;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Error, ErrorKind, State, Value};

use crate::bounds::{TEXT_MAX, spend_new_elements, spend_new_text, spend_text, text_too_long};
use crate::operators;
use crate::print::to_text;

/// Converts a value to text and charges for reading it.
pub(crate) fn read<'v>(state: &mut State<'_, '_>, value: &'v Value) -> Result<Cow<'v, str>, Error> {
    let text = to_text(value)?;
    spend_text(state, text.len())?;
    Ok(text)
}

fn write(state: &mut State<'_, '_>, text: String) -> Result<Value, Error> {
    spend_new_text(state, text.len())?;
    Ok(Value::from(text))
}

pub(crate) fn lower(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = read(state, value)?.to_lowercase();
    write(state, text)
}

pub(crate) fn upper(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = read(state, value)?.to_uppercase();
    write(state, text)
}

/// Capitalizes the first letter of every word.
pub(crate) fn title(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let mut inside = false;
    let mut text = String::new();
    for letter in read(state, value)?.chars() {
        match inside {
            true => text.extend(letter.to_lowercase()),
            false => text.extend(letter.to_uppercase()),
        }
        inside = letter.is_alphanumeric() || letter == '\'';
    }
    write(state, text)
}

/// Makes the first letter upper case and all others lower case.
pub(crate) fn capitalize(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = read(state, value)?;
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let rest = letters.as_str().to_lowercase();
    write(state, first + &rest)
}

/// Quotes text as one word of a POSIX shell: in single quotes, unless it consists of characters that
/// mean nothing to a shell.
pub(super) fn shell_quote(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = read(state, value)?;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-./:@%+=,".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        let text = text.into_owned();
        return write(state, text);
    }
    let quoted = format!("'{}'", text.replace('\'', "'\\''"));
    write(state, quoted)
}

/// Escapes the characters that are special in HTML.
pub(crate) fn escape(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let mut text = String::new();
    for letter in read(state, value)?.chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&#34;"),
            '\'' => text.push_str("&#39;"),
            other => text.push(other),
        }
    }
    write(state, text)
}

pub(crate) fn wordcount(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    Ok(Value::from(read(state, value)?.split_whitespace().count()))
}

/// Shortens text to `length` characters and appends `end`. Words are kept whole unless `killwords`
/// is set. Text that exceeds `length` by at most `leeway` is returned unchanged.
pub(crate) fn truncate(
    state: &mut State<'_, '_>,
    value: &Value,
    length: Option<usize>,
    killwords: Option<bool>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    const LEEWAY: usize = 5;
    let length = length.or(kwargs.get("length")?).unwrap_or(255);
    let killwords = killwords.or(kwargs.get("killwords")?).unwrap_or(false);
    let end = kwargs.get::<Option<String>>("end")?.unwrap_or_else(|| "...".to_owned());
    let leeway = kwargs.get::<Option<usize>>("leeway")?.unwrap_or(LEEWAY);
    kwargs.assert_all_used()?;
    let text = read(state, value)?;
    if text.chars().count() <= length.saturating_add(leeway) {
        let text = text.into_owned();
        return write(state, text);
    }
    let kept: String = text.chars().take(length.saturating_sub(end.chars().count())).collect();
    let kept = match kept.rsplit_once(' ') {
        Some((words, _)) if !killwords => words.to_owned(),
        Some(_) | None => kept,
    };
    write(state, kept + &end)
}

/// Removes whitespace, or the given characters, from both ends.
pub(super) fn trim(
    state: &mut State<'_, '_>,
    value: &Value,
    characters: Option<&str>,
) -> Result<Value, Error> {
    let text = read(state, value)?;
    let trimmed = match characters {
        Some(characters) => text.trim_matches(|it| characters.contains(it)),
        None => text.trim(),
    };
    write(state, trimmed.to_owned())
}

pub(super) fn string(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    let text = read(state, value)?.into_owned();
    write(state, text)
}

pub(super) fn replace(
    state: &mut State<'_, '_>,
    value: &Value,
    from: &Value,
    to: &Value,
) -> Result<Value, Error> {
    let (text, from, to) = (read(state, value)?, read(state, from)?, read(state, to)?);
    let replaced = replaced(&text, &from, &to, usize::MAX)?;
    write(state, replaced)
}

/// Replaces at most `count` occurrences. The length of the result is checked first; fails if it is
/// too long.
pub(crate) fn replaced(text: &str, from: &str, to: &str, count: usize) -> Result<String, Error> {
    let found = text.matches(from).take(count).count();
    let length = (text.len() - found * from.len()).saturating_add(found.saturating_mul(to.len()));
    if length > TEXT_MAX { Err(text_too_long()) } else { Ok(text.replacen(from, to, count)) }
}

/// Splits text at a separator, or at whitespace.
pub(crate) fn split(
    state: &mut State<'_, '_>,
    value: &Value,
    separator: Option<Value>,
    count: Option<i64>,
) -> Result<Value, Error> {
    let text = read(state, value)?;
    let count =
        count.and_then(|it| usize::try_from(it).ok()).map_or(usize::MAX, |it| it.saturating_add(1));
    let parts: Vec<&str> = match separator.as_ref().and_then(Value::as_str) {
        Some("") => return Err(Error::new(ErrorKind::InvalidOperation, "the separator is empty")),
        Some(separator) => text.splitn(count, separator).collect(),
        None if count == usize::MAX => text.split_whitespace().collect(),
        None => text.trim_start().splitn(count, char::is_whitespace).map(str::trim_start).collect(),
    };
    spend_new_elements(state, parts.len())?;
    Ok(parts.into_iter().map(Value::from).collect())
}

pub(crate) fn lines(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = read(state, value)?;
    spend_new_elements(state, text.lines().count())?;
    Ok(text.lines().map(Value::from).collect())
}

/// Joins the items of a list, or one attribute of each, with a separator.
pub(super) fn join(
    state: &mut State<'_, '_>,
    value: &Value,
    between: Option<Value>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let between = match between {
        Some(between) => between,
        None => kwargs.get::<Option<Value>>("d")?.unwrap_or_default(),
    };
    let attribute = kwargs.get::<Option<&str>>("attribute")?;
    kwargs.assert_all_used()?;
    let between = read(state, &between)?;
    let items = operators::items(state, value)?;
    let items = items.iter().map(|item| match attribute {
        Some(attribute) => super::list::attribute(item, attribute),
        None => item.clone(),
    });
    let joined = joined(items, &between)?;
    write(state, joined)
}

pub(crate) fn joined(items: impl Iterator<Item = Value>, between: &str) -> Result<String, Error> {
    let mut text = String::new();
    for (place, item) in items.enumerate() {
        if place > 0 {
            text.push_str(between);
        }
        text.push_str(&to_text(&item)?);
        if text.len() > TEXT_MAX {
            return Err(text_too_long());
        }
    }
    Ok(text)
}

/// Centers text in a field of `width` columns.
pub(super) fn center(
    state: &mut State<'_, '_>,
    value: &Value,
    width: Option<usize>,
) -> Result<Value, Error> {
    const WIDTH: usize = 80;
    let text = read(state, value)?;
    let width = width.unwrap_or(WIDTH);
    spend_new_text(state, width)?;
    write(state, format!("{text:^width$}"))
}

/// Indents every line except the first; with `first`, also the first.
pub(super) fn indent(
    state: &mut State<'_, '_>,
    value: &Value,
    width: Option<usize>,
    first: Option<bool>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    const WIDTH: usize = 4;
    let text = read(state, value)?;
    let width = match width {
        Some(width) => width,
        None => kwargs.get::<Option<usize>>("width")?.unwrap_or(WIDTH),
    };
    let first = match first {
        Some(first) => first,
        None => kwargs.get::<Option<bool>>("first")?.unwrap_or(false),
    };
    let blank = kwargs.get::<Option<bool>>("blank")?.unwrap_or(false);
    kwargs.assert_all_used()?;
    let lines = text.split('\n').count();
    spend_new_text(state, lines.saturating_mul(width).saturating_add(text.len()))?;
    let space = " ".repeat(width);
    let mut indented = String::new();
    for (place, line) in text.split('\n').enumerate() {
        if place > 0 {
            indented.push('\n');
        }
        if (place > 0 || first) && (blank || !line.is_empty()) {
            indented.push_str(&space);
        }
        indented.push_str(line);
    }
    Ok(Value::from(indented))
}

/// Formats a pattern in the style of Python's `%`: `"%s of %d" | format(a, b)`.
pub(super) fn format(
    state: &mut State<'_, '_>,
    value: &Value,
    arguments: Rest<ValueOrKwargs>,
) -> Result<Value, Error> {
    const DIGITS_MAX: usize = 4;
    let pattern = read(state, value)?.into_owned();
    let is_wide = |it: &str| it.len() > DIGITS_MAX;
    if pattern.contains('*') || pattern.split(|it: char| !it.is_ascii_digit()).any(is_wide) {
        let message = format!("a width in `format` may have {DIGITS_MAX} digits");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    let arguments = arguments.into_values();
    // The result is estimated before it is made: an argument can be used by several fields, and a
    // field can be wide.
    let fields = pattern.matches('%').count();
    let widest = 10_usize.pow(4);
    let mut length = fields.saturating_mul(if pattern.contains(|it: char| it.is_ascii_digit()) {
        widest
    } else {
        0
    });
    let mut plain = Vec::new();
    for argument in arguments {
        let is_scalar =
            matches!(argument.kind(), ValueKind::Number | ValueKind::Bool) || argument.is_kwargs();
        let argument = if is_scalar { argument } else { Value::from(to_text(&argument)?) };
        length =
            length.saturating_add(argument.as_str().map_or(0, str::len).saturating_mul(fields));
        plain.push(argument);
    }
    spend_new_text(state, pattern.len().saturating_add(length))?;
    let arguments = minijinja::value::from_args::<(Rest<ValueOrKwargs>,)>(&plain)?.0;
    minijinja::filters::format(state, &Value::from(pattern), arguments)
}

/// Percent-encodes text for a URL; a map becomes a query string.
pub(super) fn urlencode(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let mut text = String::new();
    if value.kind() == ValueKind::Map {
        for (key, item) in crate::print::pairs(value) {
            if item.is_none() || item.is_undefined() {
                continue;
            }
            if !text.is_empty() {
                text.push('&');
            }
            percent_encode(&mut text, &read(state, &key)?)?;
            text.push('=');
            percent_encode(&mut text, &read(state, &item)?)?;
        }
    } else {
        percent_encode(&mut text, &read(state, value)?)?;
    }
    write(state, text)
}

fn percent_encode(text: &mut String, plain: &str) -> Result<(), Error> {
    for byte in plain.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            _ => write!(text, "%{byte:02X}")?,
        }
        if text.len() > TEXT_MAX {
            return Err(text_too_long());
        }
    }
    Ok(())
}

pub(super) fn b64encode(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = BASE64.encode(read(state, value)?.as_bytes());
    write(state, text)
}

pub(super) fn b64decode(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let bytes = BASE64.decode(read(state, value)?.trim()).map_err(|error| {
        Error::new(ErrorKind::InvalidOperation, format!("`b64decode` was given no base64: {error}"))
    })?;
    write(state, String::from_utf8_lossy(&bytes).into_owned())
}
