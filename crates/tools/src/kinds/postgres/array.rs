//! Parses and writes PostgreSQL's text format of arrays.

use serde_json::Value;

use crate::run::keys::scalar_text;

/// The maximum number of dimensions of a PostgreSQL array.
const DEPTH_MAX: usize = 6;

/// Parses `{1,NULL,"a,b"}` to nested lists; each element is converted by `element`. Returns `None`
/// for any other format, such as an array whose indexes do not begin with 1, which a list cannot
/// represent.
pub(crate) fn parse(
    text: &str,
    delimiter: char,
    element: &impl Fn(&str) -> Value,
) -> Option<Value> {
    let mut rest = text;
    let value = list(&mut rest, delimiter, element, 0)?;
    rest.is_empty().then_some(value)
}

fn list(
    rest: &mut &str,
    delimiter: char,
    element: &impl Fn(&str) -> Value,
    depth: usize,
) -> Option<Value> {
    *rest = rest.strip_prefix('{').filter(|_| depth < DEPTH_MAX)?;
    let mut items = Vec::new();
    if let Some(after) = rest.strip_prefix('}') {
        *rest = after;
        return Some(Value::Array(items));
    }
    loop {
        items.push(match rest.chars().next()? {
            '{' => list(rest, delimiter, element, depth + 1)?,
            '"' => element(&quoted(rest)?),
            _ => plain(rest, delimiter, element)?,
        });
        let next = rest.chars().next()?;
        *rest = &rest[next.len_utf8()..];
        if next == '}' {
            return Some(Value::Array(items));
        }
        if next != delimiter {
            return None;
        }
    }
}

fn plain(rest: &mut &str, delimiter: char, element: &impl Fn(&str) -> Value) -> Option<Value> {
    let end = rest.find([delimiter, '}'])?;
    let text = &rest[..end];
    *rest = &rest[end..];
    Some(if text == "NULL" { Value::Null } else { element(text) })
}

fn quoted(rest: &mut &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    loop {
        match chars.next()? {
            (_, '\\') => text.push(chars.next()?.1),
            (at, '"') => {
                *rest = &rest[at + 1..];
                return Some(text);
            }
            (_, c) => text.push(c),
        }
    }
}

/// Writes a list as an array; maps in it are written as JSON.
pub(crate) fn write(items: &[Value]) -> String {
    let items: Vec<String> = items
        .iter()
        .map(|item| match item {
            Value::Null => "NULL".to_owned(),
            Value::Array(items) => write(items),
            item => {
                let text = scalar_text(item).unwrap_or_else(|| item.to_string());
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
        })
        .collect();
    format!("{{{}}}", items.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_array_is_read_with_its_nulls_quotes_and_dimensions() {
        let check = |text: &str, expected: Option<Value>| {
            let found = parse(text, ',', &|text| Value::String(text.to_owned()));
            assert_eq!(found, expected, "{text}");
        };
        check("{}", Some(json!([])));
        check("{1,NULL,\"NULL\"}", Some(json!(["1", null, "NULL"])));
        check(r#"{"a,\"b\\","é}"}"#, Some(json!(["a,\"b\\", "é}"])));
        check("{{1,2},{3,4}}", Some(json!([["1", "2"], ["3", "4"]])));
        check("[0:1]={1,2}", None);
        check("{1", None);
        check("{{{{{{{1}}}}}}}", None);
    }

    #[test]
    fn an_array_is_written_so_that_it_reads_the_same() {
        let items = json!(["a,\"b\\", null, "NULL", ["x"]]);
        let text = write(items.as_array().expect("it is a list"));
        assert_eq!(text, r#"{"a,\"b\\",NULL,"NULL",{"x"}}"#);
    }
}
