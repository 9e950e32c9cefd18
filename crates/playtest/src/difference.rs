//! Differences between an expected and a found value, as lines of a diff.

use serde::Serialize;
use serde_json::{Map, Value};

/// The most differences shown for one expectation.
const DIFFERENCES_MAX: usize = 20;
/// The most characters of a value in a line.
const VALUE_CHARS_MAX: usize = 200;

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "sign", content = "text", rename_all = "snake_case")]
pub enum FaultLine {
    /// The place of the difference, such as `output.items[2]`.
    Place(String),
    Expected(String),
    Actual(String),
}

/// The strictness of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchMode {
    Exact,
    /// Maps may have keys that are not expected.
    Includes,
}

/// Returns the differences of two values, both complete; none if they are equal. `name` is the name
/// of the value.
pub fn value_differences(name: &str, expected: &Value, actual: &Value) -> Vec<FaultLine> {
    differences(name, expected, actual, MatchMode::Exact)
}

pub(crate) fn differences(
    name: &str,
    expected: &Value,
    actual: &Value,
    mode: MatchMode,
) -> Vec<FaultLine> {
    let mut found = DifferenceList { mode, lines: Vec::new(), count: 0 };
    found.compare(name, Some(expected), Some(actual));
    let omitted = found.count.saturating_sub(DIFFERENCES_MAX);
    if omitted > 0 {
        found.lines.push(FaultLine::Place(format!("… and {omitted} more differences")));
    }
    found.lines
}

/// True if a value is as expected.
pub(crate) fn matches(expected: &Value, actual: &Value, mode: MatchMode) -> bool {
    differences("", expected, actual, mode).is_empty()
}

/// The differences found so far.
struct DifferenceList {
    mode: MatchMode,
    lines: Vec<FaultLine>,
    count: usize,
}

impl DifferenceList {
    fn compare(&mut self, place: &str, expected: Option<&Value>, actual: Option<&Value>) {
        match (expected, actual) {
            (Some(Value::Object(expected)), Some(Value::Object(actual))) => {
                self.maps(place, expected, actual);
            }
            (Some(Value::Array(expected)), Some(Value::Array(actual))) => {
                for index in 0..expected.len().max(actual.len()) {
                    let place = format!("{place}[{index}]");
                    self.compare(&place, expected.get(index), actual.get(index));
                }
            }
            (Some(expected), Some(actual)) if are_equal(expected, actual) => {}
            (expected, actual) => self.add(place, expected, actual),
        }
    }

    fn maps(&mut self, place: &str, expected: &Map<String, Value>, actual: &Map<String, Value>) {
        for (key, value) in expected {
            self.compare(&format!("{place}.{key}"), Some(value), actual.get(key));
        }
        match self.mode {
            MatchMode::Includes => {}
            MatchMode::Exact => {
                for (key, value) in actual.iter().filter(|(key, _)| !expected.contains_key(*key)) {
                    self.compare(&format!("{place}.{key}"), None, Some(value));
                }
            }
        }
    }

    fn add(&mut self, place: &str, expected: Option<&Value>, actual: Option<&Value>) {
        self.count += 1;
        if self.count > DIFFERENCES_MAX {
            return;
        }
        self.lines.push(FaultLine::Place(place.to_owned()));
        self.lines.extend(expected.map(|value| FaultLine::Expected(shown(value))));
        self.lines.extend(actual.map(|value| FaultLine::Actual(shown(value))));
    }
}

/// True if two scalars are equal; numbers are compared by value, so that 1 is 1.0.
fn are_equal(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(expected), Value::Number(actual)) => {
            expected == actual || expected.as_f64() == actual.as_f64()
        }
        (expected, actual) => expected == actual,
    }
}

/// Returns a value as JSON, cut to a readable length.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(expected: Value, actual: Value, mode: MatchMode, lines: &[&str]) {
        let found: Vec<String> = differences("output", &expected, &actual, mode)
            .into_iter()
            .map(|line| match line {
                FaultLine::Place(place) => place,
                FaultLine::Expected(value) => format!("- {value}"),
                FaultLine::Actual(value) => format!("+ {value}"),
            })
            .collect();
        assert_eq!(found, lines);
    }

    #[test]
    fn each_difference_has_its_place() {
        check(
            json!({ "a": [1, 2], "b": { "c": "x" } }),
            json!({ "a": [1, 3, 4], "b": { "c": "y", "d": null } }),
            MatchMode::Exact,
            &[
                "output.a[1]",
                "- 2",
                "+ 3",
                "output.a[2]",
                "+ 4",
                "output.b.c",
                "- \"x\"",
                "+ \"y\"",
                "output.b.d",
                "+ null",
            ],
        );
    }

    #[test]
    fn a_part_may_lack_keys_but_no_list_items() {
        check(json!({ "a": 1 }), json!({ "a": 1.0, "b": 2 }), MatchMode::Includes, &[]);
        check(json!([1]), json!([1, 2]), MatchMode::Includes, &["output[1]", "+ 2"]);
        check(json!({ "a": 1 }), json!({}), MatchMode::Includes, &["output.a", "- 1"]);
    }

    #[test]
    fn long_lists_of_differences_are_cut() {
        let expected: Vec<u32> = (0..50).collect();
        let actual: Vec<u32> = (1..51).collect();
        let lines = differences("o", &json!(expected), &json!(actual), MatchMode::Exact);
        assert_eq!(lines.len(), 3 * DIFFERENCES_MAX + 1);
        assert_eq!(lines.last(), Some(&FaultLine::Place("… and 30 more differences".to_owned())));
    }
}
