//! The settings of a wait: the condition that ends it, its timeout, and the result of the timeout.

use std::time::Duration;

use noetl_model::{
    BadSignalKey, CommandId, ErrorKind, SignalKey, SignalName, Timestamp, ToolError, WaitCondition,
    WaitTimeout,
};
use noetl_playbook::{WAIT_MAX, duration_of};
use serde_json::{Map, Value};

use crate::lease::rendered_config;
use crate::{DecisionArgs, Execution, Needs};

/// A wait as its step requests it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitRequest {
    pub(crate) condition: WaitCondition,
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_timeout: WaitTimeout,
}

/// Returns the wait that an open command requests; the error if its settings are invalid.
pub(crate) fn wait_request(
    state: &Execution,
    command: CommandId,
    given: DecisionArgs<'_>,
) -> Result<Result<WaitRequest, ToolError>, Needs> {
    let now = state.event_time(given.now);
    let rendered = rendered_config(state, command, given)?;
    Ok(rendered.and_then(|config| {
        request_of(&config, now).map_err(|message| ToolError::new(ErrorKind::Config, message))
    }))
}

fn request_of(config: &Map<String, Value>, now: Timestamp) -> Result<WaitRequest, String> {
    let given = |key: &str| config.get(key).filter(|value| !value.is_null());
    let condition = match (given("for"), given("until"), given("signal")) {
        (Some(length), None, None) => {
            let until = now.after(duration("for", length)?);
            WaitCondition::Time { until }
        }
        (None, Some(until), None) => WaitCondition::Time { until: time(until, now)? },
        (None, None, Some(name)) => {
            let key = given("key").map(correlation_key).transpose()?;
            WaitCondition::Signal { name: signal(name)?, key }
        }
        (None, None, None) => return Err("a wait needs `for`, `until` or `signal`".to_owned()),
        (_, _, _) => return Err("a wait has only one of `for`, `until` and `signal`".to_owned()),
    };
    if let (WaitCondition::Time { .. }, Some(_)) = (&condition, given("key")) {
        return Err("`key` belongs to a wait for a `signal`".to_owned());
    }
    let timeout = given("timeout_seconds").or(given("timeout"));
    let timeout = timeout.map(|timeout| duration("timeout", timeout)).transpose()?;
    let on_timeout = match given("on_timeout").and_then(Value::as_str) {
        None => WaitTimeout::Fail,
        Some(word) if word.eq_ignore_ascii_case("fail") => WaitTimeout::Fail,
        Some(word) if word.eq_ignore_ascii_case("continue") => WaitTimeout::Continue,
        Some(other) => {
            return Err(format!("`on_timeout` is `fail` or `continue`, not `{other}`"));
        }
    };
    Ok(WaitRequest { condition, timeout, on_timeout })
}

pub(crate) fn duration(key: &str, value: &Value) -> Result<Duration, String> {
    let duration = duration_of(value)
        .ok_or_else(|| format!("`{key}` is a duration such as 30s, 10m or 2d, not `{value}`"))?;
    if duration > WAIT_MAX {
        return Err(format!(
            "`{key}` is at most {} days, not `{value}`",
            WAIT_MAX.as_secs() / 86_400
        ));
    }
    Ok(duration)
}

/// Reads a time: RFC 3339 text, or seconds since 1970.
fn time(value: &Value, now: Timestamp) -> Result<Timestamp, String> {
    let wrong = || format!("`until` is a time such as 2026-01-31T09:30:00Z, not `{value}`");
    let until = match value {
        Value::String(text) => text.trim().parse().map_err(|_| wrong())?,
        Value::Number(seconds) => {
            let seconds = seconds.as_f64().and_then(|s| Duration::try_from_secs_f64(s).ok());
            Timestamp::from_micros(0).after(seconds.ok_or_else(wrong)?)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(wrong()),
    };
    if until > now.after(WAIT_MAX) {
        let days = WAIT_MAX.as_secs() / 86_400;
        return Err(format!("`until` is at most {days} days ahead, not `{value}`"));
    }
    Ok(until)
}

fn signal(value: &Value) -> Result<SignalName, String> {
    let name = value.as_str().ok_or_else(|| format!("`signal` is a name, not `{value}`"))?;
    name.parse().map_err(|error: noetl_model::BadSignalName| error.to_string())
}

/// Reads a correlation key: a text, a number or a boolean.
fn correlation_key(value: &Value) -> Result<SignalKey, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(format!("`key` is a text or a number, not `{value}`"));
        }
    };
    text.parse().map_err(|error: BadSignalKey| format!("`key`: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(config: Value, expected: Result<(&str, Option<u64>, WaitTimeout), &str>) {
        let now = Timestamp::from_millis(1_000_000);
        let Value::Object(config) = config else { panic!("a map") };
        let found = request_of(&config, now).map(|wait| {
            let condition = match wait.condition {
                WaitCondition::Time { until } => until.to_string(),
                WaitCondition::Signal { name, key: None } => name.to_string(),
                WaitCondition::Signal { name, key: Some(key) } => format!("{name} {key}"),
            };
            (condition, wait.timeout.map(|timeout| timeout.as_secs()), wait.on_timeout)
        });
        let expected = expected
            .map(|(condition, timeout, on)| (condition.to_owned(), timeout, on))
            .map_err(str::to_owned);
        assert_eq!(found, expected, "{config:?}");
    }

    #[test]
    fn settings_become_a_condition_or_an_error_that_names_the_key() {
        use WaitTimeout::{Continue, Fail};
        check(json!({ "for": "10m" }), Ok(("1970-01-01T00:26:40.000000Z", None, Fail)));
        check(json!({ "for": 0 }), Ok(("1970-01-01T00:16:40.000000Z", None, Fail)));
        check(
            json!({ "until": "1971-01-31T09:30:00Z" }),
            Ok(("1971-01-31T09:30:00.000000Z", None, Fail)),
        );
        check(json!({ "until": 60 }), Ok(("1970-01-01T00:01:00.000000Z", None, Fail)));
        check(json!({ "signal": "paid", "timeout": "2d" }), Ok(("paid", Some(172_800), Fail)));
        check(
            json!({ "signal": "paid", "timeout": 5, "on_timeout": "continue" }),
            Ok(("paid", Some(5), Continue)),
        );
        check(json!({ "signal": "paid", "key": 7 }), Ok(("paid 7", None, Fail)));
        check(json!({ "signal": "paid", "key": [] }), Err("`key` is a text or a number, not `[]`"));
        check(
            json!({ "signal": "paid", "key": " " }),
            Err("`key`: a correlation key has 1 to 512 bytes without control characters"),
        );
        check(json!({ "for": 1, "key": "x" }), Err("`key` belongs to a wait for a `signal`"));
        check(json!({}), Err("a wait needs `for`, `until` or `signal`"));
        check(
            json!({ "for": 1, "signal": "x" }),
            Err("a wait has only one of `for`, `until` and `signal`"),
        );
        check(
            json!({ "for": "soon" }),
            Err("`for` is a duration such as 30s, 10m or 2d, not `\"soon\"`"),
        );
        check(json!({ "for": "9999d" }), Err("`for` is at most 3660 days, not `\"9999d\"`"));
        check(
            json!({ "until": "tomorrow" }),
            Err("`until` is a time such as 2026-01-31T09:30:00Z, not `\"tomorrow\"`"),
        );
        check(
            json!({ "until": "9000-01-01T00:00:00Z" }),
            Err("`until` is at most 3660 days ahead, not `\"9000-01-01T00:00:00Z\"`"),
        );
        check(json!({ "signal": 5 }), Err("`signal` is a name, not `5`"));
        check(
            json!({ "signal": "x", "on_timeout": "explode" }),
            Err("`on_timeout` is `fail` or `continue`, not `explode`"),
        );
    }
}
