//! Shared operations on JSON values: writing by a dotted key, reading by a path, merging, listing.

use noetl_expr::loop_results;
use noetl_model::Payload;
use serde_json::{Map, Value};

use crate::state::SetVariables;

/// Writes `value` under a dotted key, creating maps on the way: `page.next` is `{page: {next: …}}`.
///
/// Writing a part of a value stored by reference replaces the whole value; see [`whole_of`].
pub(crate) fn assign(variables: &mut SetVariables, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            variables.insert(key.to_owned(), Payload::inline(value));
        }
        Some((first, rest)) => {
            let known = variables.get(first).and_then(Payload::as_inline);
            let mut nested = known.map_or(Value::Null, |known| (**known).clone());
            assign_in(&mut nested, rest, value);
            variables.insert(first.to_owned(), Payload::inline(nested));
        }
    }
}

/// Splits a dotted key into the variable's name and the path in it; `None` if there is no dot.
pub(crate) fn whole_of(key: &str) -> Option<(&str, &str)> {
    key.split_once('.')
}

/// Writes `value` under a dotted key of `target`, creating maps on the way.
pub(crate) fn assign_in(target: &mut Value, key: &str, value: Value) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let map = target.as_object_mut().expect("it has just been made a map");
    match key.split_once('.') {
        None => {
            map.insert(key.to_owned(), value);
        }
        Some((first, rest)) => {
            assign_in(map.entry(first.to_owned()).or_insert(Value::Null), rest, value);
        }
    }
}

/// Writes `value` at a path of nested maps; does nothing if a non-map is in the way.
pub(crate) fn put_at(target: &mut Value, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *target = value;
        return;
    };
    let Some(map) = target.as_object_mut() else { return };
    if rest.is_empty() {
        map.insert((*first).to_owned(), value);
    } else {
        let nested = map.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new()));
        put_at(nested, rest, value);
    }
}

/// Merges `over` into `base`: maps key by key, everything else replaced.
pub fn merge(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The aliases of a value for keys it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aliases {
    None,
    /// `data`, `result` and `results` refer to the value itself.
    Own,
    /// As `Own`; and a key missing from an HTTP result is looked up in its body.
    OwnOrBody,
}

/// Returns the value that a path selects and the number of segments used: fewer than all if the
/// rest is a method or an index, which only the template can follow.
pub(crate) fn select<'v>(
    value: &'v Value,
    path: &[&str],
    aliases: Aliases,
) -> Option<(usize, &'v Value)> {
    let mut current = value;
    for (depth, segment) in path.iter().enumerate() {
        let Value::Object(map) = current else {
            if depth == 0 && is_self_alias(segment, aliases) {
                continue;
            }
            return Some((depth, current));
        };
        current = match map.get(*segment) {
            Some(nested) => nested,
            None if depth == 0 && is_self_alias(segment, aliases) => current,
            None if depth == 0 && aliases == Aliases::OwnOrBody => {
                match map.get("body").and_then(|body| body.get(segment)) {
                    Some(nested) => nested,
                    None => return method(segment, depth, current),
                }
            }
            None => return method(segment, depth, current),
        };
    }
    Some((path.len(), current))
}

fn is_self_alias(segment: &str, aliases: Aliases) -> bool {
    match aliases {
        Aliases::None => false,
        Aliases::Own | Aliases::OwnOrBody => matches!(segment, "data" | "result" | "results"),
    }
}

fn method<'v>(segment: &str, depth: usize, current: &'v Value) -> Option<(usize, &'v Value)> {
    matches!(segment, "get" | "items" | "keys" | "values").then_some((depth, current))
}

/// The items of a loop, or the reason why the value is not a list.
pub(crate) enum Listed {
    Count(u64),
    Items(Vec<Value>),
    NotAList(&'static str),
}

/// Reads a value as a list: a map becomes its entries, a number a count, and a text is parsed as
/// JSON or split at commas and line ends.
pub(crate) fn listed(value: Value) -> Listed {
    if let Some(results) = loop_results(&value) {
        return Listed::Items(results.clone());
    }
    match value {
        Value::Array(items) => Listed::Items(items),
        Value::Object(map) => Listed::Items(
            map.into_iter()
                .map(|(key, value)| serde_json::json!({ "key": key, "value": value }))
                .collect(),
        ),
        Value::Number(number) => match number.as_u64().or_else(|| integral(number.as_f64())) {
            Some(count) => Listed::Count(count),
            None => Listed::NotAList("a number that does not count"),
        },
        Value::String(text) => Listed::Items(list_of_text(&text)),
        Value::Bool(_) => Listed::NotAList("a boolean"),
        Value::Null => Listed::NotAList("nothing"),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is checked to be a small whole number"
)]
fn integral(number: Option<f64>) -> Option<u64> {
    number.filter(|n| n.fract() == 0.0 && (0.0..9e15).contains(n)).map(|n| n as u64)
}

fn list_of_text(text: &str) -> Vec<Value> {
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        return items;
    }
    text.split([',', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| Value::String(part.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dotted_keys_make_nested_maps_and_keep_what_is_there() {
        let mut variables = SetVariables::new();
        assign(&mut variables, "page.next", json!(2));
        assign(&mut variables, "page.size", json!(10));
        assign(&mut variables, "page.next", json!(3));
        let page = Payload::inline(json!({ "next": 3, "size": 10 }));
        assert_eq!(variables.get("page"), Some(&page));
    }

    #[test]
    fn merging_is_deep_for_maps_only() {
        let mut base = json!({ "a": { "x": 1, "y": [1] }, "b": 1 });
        let over = json!({ "a": { "y": [2] }, "c": null });
        merge(base.as_object_mut().unwrap(), over.as_object().unwrap());
        assert_eq!(base, json!({ "a": { "x": 1, "y": [2] }, "b": 1, "c": null }));
    }

    #[test]
    fn paths_select_keys_then_aliases_then_leave_methods_to_the_template() {
        let value = json!({ "items": [1, 2], "n": { "k": 7 } });
        let at = |path: &[&str]| {
            select(&value, path, Aliases::Own).map(|(depth, value)| (depth, value.clone()))
        };
        assert_eq!(at(&["n", "k"]), Some((2, json!(7))));
        assert_eq!(at(&["data", "n", "k"]), Some((3, json!(7))));
        assert_eq!(at(&["items", "first"]), Some((1, json!([1, 2]))));
        assert_eq!(at(&["n", "get"]), Some((1, json!({ "k": 7 }))));
        assert_eq!(at(&["missing"]), None);
        let list = json!([[6], 7]);
        assert_eq!(select(&list, &["data"], Aliases::Own), Some((1, &list)));
        assert_eq!(select(&json!(6), &["data"], Aliases::Own), Some((1, &json!(6))));
        assert_eq!(select(&list, &["first"], Aliases::Own), Some((0, &list)));
    }

    #[test]
    fn a_missing_key_of_an_http_result_is_looked_up_in_its_body() {
        let value = json!({ "status_code": 200, "body": { "meta": { "page": 3 } } });
        let found = select(&value, &["meta", "page"], Aliases::OwnOrBody);
        assert_eq!(found, Some((2, &json!(3))));
    }

    #[test]
    fn items_of_a_loop_are_read_from_each_accepted_form() {
        let show = |value: Value| match listed(value) {
            Listed::Count(count) => format!("count {count}"),
            Listed::Items(items) => Value::Array(items).to_string(),
            Listed::NotAList(what) => format!("not a list: {what}"),
        };
        assert_eq!(show(json!([1, 2])), "[1,2]");
        assert_eq!(show(json!({ "a": 1 })), r#"[{"key":"a","value":1}]"#);
        let output = json!({ "results": [1, 2], "data": [1, 2], "stats": {} });
        assert_eq!(show(output), "[1,2]");
        assert_eq!(show(json!(3)), "count 3");
        assert_eq!(show(json!(3.0)), "count 3");
        assert_eq!(show(json!(-1)), "not a list: a number that does not count");
        assert_eq!(show(json!("[1, 2]")), "[1,2]");
        assert_eq!(show(json!("a, b\nc,")), r#"["a","b","c"]"#);
        assert_eq!(show(json!(null)), "not a list: nothing");
        assert_eq!(show(json!(true)), "not a list: a boolean");
    }
}
