//! Statuses of tools in the spellings of existing workers.

use noetl_model::ErrorKind;
use serde_json::Value;
use thiserror::Error;

/// The known spellings of a status, in lower case; case is ignored.
const SPELLINGS: &[(&str, ToolStatus)] = &[
    ("success", ToolStatus::Success),
    ("ok", ToolStatus::Success),
    ("completed", ToolStatus::Success),
    ("error", ToolStatus::Error),
    ("failed", ToolStatus::Error),
    ("failure", ToolStatus::Error),
    ("timeout", ToolStatus::Timeout),
];

/// The status of a tool that has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    Success,
    Error,
    Timeout,
}

/// A status that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0} is not a known status of a tool; known are {known}", known = known())]
pub struct UnknownToolStatus(pub String);

fn known() -> String {
    let known: Vec<String> = SPELLINGS.iter().map(|(word, _)| format!("`{word}`")).collect();
    known.join(", ")
}

impl ToolStatus {
    /// Parses a status. A tool that names none (also null or empty text) has succeeded.
    pub fn of(status: Option<&Value>) -> Result<Self, UnknownToolStatus> {
        let unknown = |value: &Value| UnknownToolStatus(format!("`{value}`"));
        match status {
            None | Some(Value::Null) => Ok(ToolStatus::Success),
            Some(Value::String(word)) if word.is_empty() => Ok(ToolStatus::Success),
            Some(Value::String(word)) => {
                let known = SPELLINGS.iter().find(|(it, _)| it.eq_ignore_ascii_case(word));
                let known = known.map(|(_, status)| *status);
                known.ok_or_else(|| UnknownToolStatus(format!("`{word}`")))
            }
            Some(
                value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)),
            ) => Err(unknown(value)),
        }
    }

    /// Returns the kind of error of a tool that failed.
    pub(super) fn kind(self) -> ErrorKind {
        match self {
            ToolStatus::Timeout => ErrorKind::Timeout,
            ToolStatus::Success | ToolStatus::Error => ErrorKind::Exception,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(status: Value, expected: ToolStatus) {
        assert_eq!(ToolStatus::of(Some(&status)), Ok(expected), "{status}");
    }

    #[test]
    fn every_spelling_of_a_status_is_understood_whatever_its_case() {
        for word in ["success", "SUCCESS", "ok", "COMPLETED", ""] {
            check(json!(word), ToolStatus::Success);
        }
        for word in ["error", "FAILED", "failure"] {
            check(json!(word), ToolStatus::Error);
        }
        check(json!("Timeout"), ToolStatus::Timeout);
        check(Value::Null, ToolStatus::Success);
        assert_eq!(ToolStatus::of(None), Ok(ToolStatus::Success));
    }

    #[test]
    fn a_status_that_is_not_known_is_an_error_that_names_the_known_ones() {
        let error = ToolStatus::of(Some(&json!("cancelled"))).unwrap_err();
        expect!["`cancelled` is not a known status of a tool; known are `success`, `ok`, `completed`, `error`, `failed`, `failure`, `timeout`"]
            .assert_eq(&error.to_string());
        for status in [json!("succes"), json!(200), json!(true), json!({})] {
            assert!(ToolStatus::of(Some(&status)).is_err(), "{status}");
        }
    }
}
