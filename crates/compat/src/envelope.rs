//! Events of other programs, parsed and written: all known spellings are accepted, missing keys get their
//! default, and unknown keys are kept.

use noetl_model::{DEFAULT_OWNER, Envelope, Timestamp};
use serde_json::{Map, Value, json};

/// The reason why a value is not a valid event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEnvelope {
    #[error("it is not a map")]
    NotAMap,
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{key}` is not {expected}")]
    Wrong { key: &'static str, expected: &'static str },
}

/// A map whose keys are removed as they are read.
struct Keys(Map<String, Value>);

impl Keys {
    /// Removes and returns the value of a key; null and empty text count as absent.
    fn take(&mut self, key: &str) -> Option<Value> {
        let value = self.0.shift_remove(key)?;
        let is_nothing = value.is_null() || value.as_str() == Some("");
        (!is_nothing).then_some(value)
    }

    fn number(&mut self, key: &'static str) -> Result<Option<i64>, BadEnvelope> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let number = match &value {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let wrong = BadEnvelope::Wrong { key, expected: "a whole number" };
        number.map(Some).ok_or(wrong)
    }

    fn seconds(&mut self, key: &'static str) -> Result<Option<f64>, BadEnvelope> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let wrong = BadEnvelope::Wrong { key, expected: "a number" };
        number.filter(|number: &f64| number.is_finite()).map(Some).ok_or(wrong)
    }

    /// Removes and returns a key's value as text; a value of another type is written as JSON.
    fn text(&mut self, key: &str) -> Option<String> {
        let value = self.take(key)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    fn instant(&mut self, key: &'static str) -> Result<Option<Timestamp>, BadEnvelope> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let wrong = BadEnvelope::Wrong { key, expected: "a time" };
        value.as_str().and_then(instant).map(Some).ok_or(wrong)
    }
}

/// Parses a time in RFC 3339; without a zone it is UTC.
fn instant(text: &str) -> Option<Timestamp> {
    let text = text.trim().replacen(' ', "T", 1);
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

/// Parses an event; `now` is the default for its time.
pub fn envelope_of(value: Value, now: Timestamp) -> Result<Envelope, BadEnvelope> {
    let Value::Object(map) = value else { return Err(BadEnvelope::NotAMap) };
    let mut keys = Keys(map);
    let event_id = keys.number("event_id")?.ok_or(BadEnvelope::Missing("event_id"))?;
    let created = keys.instant("created_at")?;
    let created_at = keys.instant("timestamp")?.or(created).unwrap_or(now);
    let owner = |text: Option<String>| text.unwrap_or_else(|| DEFAULT_OWNER.to_owned());
    Ok(Envelope {
        event_id,
        execution_id: keys.number("execution_id")?.unwrap_or_default(),
        catalog_id: keys.number("catalog_id")?.unwrap_or_default(),
        created_at,
        tenant_id: owner(keys.text("tenant_id")),
        organization_id: owner(keys.text("organization_id")),
        parent_event_id: keys.number("parent_event_id")?,
        event_type: keys.text("event_type"),
        node_id: keys.text("node_id"),
        node_name: keys.text("node_name"),
        node_type: keys.text("node_type"),
        status: keys.text("status"),
        duration: keys.seconds("duration")?,
        context: keys.take("context"),
        result: keys.take("result"),
        meta: keys.take("meta"),
        error: keys.text("error"),
        stack_trace: keys.text("stack_trace"),
        extra: keys.0,
    })
}

/// Parses an event in the form posted to `/api/events`; `next_id` is the default for its id.
pub fn posted_envelope_of(
    value: Value,
    now: Timestamp,
    next_id: i64,
) -> Result<Envelope, BadEnvelope> {
    let Value::Object(mut map) = value else { return Err(BadEnvelope::NotAMap) };
    let mut rename = |from: &str, to: &str| {
        if let Some(value) = map.shift_remove(from) {
            map.entry(to).or_insert(value);
        }
    };
    rename("name", "event_type");
    rename("payload", "context");
    let mut keys = Keys(map);
    let event_id = keys.number("event_id")?.unwrap_or(next_id);
    let execution = keys.number("execution_id")?.ok_or(BadEnvelope::Missing("execution_id"))?;
    let name = keys.text("event_type").ok_or(BadEnvelope::Missing("event_type"))?;
    let step = keys.text("step");
    let status = keys.text("status").unwrap_or_else(|| status_of(&name).to_owned());
    let context = keys.take("context").filter(Value::is_object);
    let result = match (keys.take("result"), context) {
        (Some(result), _) => result,
        (None, Some(context)) => json!({ "status": status, "context": context }),
        (None, None) => json!({ "status": status }),
    };
    let mut map = keys.0;
    for (key, value) in [
        ("event_id", json!(event_id)),
        ("execution_id", json!(execution)),
        ("event_type", json!(name)),
        ("status", json!(status)),
        ("result", result),
    ] {
        map.insert(key.to_owned(), value);
    }
    if let Some(step) = step {
        for key in ["node_id", "node_name"] {
            map.entry(key).or_insert_with(|| json!(step));
        }
    }
    envelope_of(Value::Object(map), now)
}

/// Returns the default status of an event, derived from the last word of its name.
fn status_of(name: &str) -> &'static str {
    let ends =
        |words: &[&str]| words.iter().any(|word| name.rsplit(['.', '_']).next() == Some(*word));
    if ends(&["failed", "error"]) {
        "FAILED"
    } else if ends(&["completed", "done", "exit"]) {
        "COMPLETED"
    } else if ends(&["cancelled"]) {
        "CANCELLED"
    } else if ends(&["started", "enter", "initialized"]) {
        "STARTED"
    } else {
        "RUNNING"
    }
}

/// Returns an event as JSON, with its unknown keys at the top level again.
pub fn value_of(event: Envelope) -> Value {
    let (created_at, extra) = (event.created_at.to_string(), event.extra.clone());
    let mut told = json!(event);
    told["created_at"] = json!(created_at);
    if let Value::Object(map) = &mut told {
        map.shift_remove("extra");
        for (key, value) in extra {
            map.entry(key).or_insert(value);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn now() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().expect("a time")
    }

    fn told(envelope: Result<Envelope, BadEnvelope>) -> String {
        match envelope {
            Ok(envelope) => serde_json::to_string(&envelope).expect("JSON"),
            Err(error) => error.to_string(),
        }
    }

    fn check(value: Value, expected: Expect) {
        expected.assert_eq(&told(envelope_of(value, now())));
    }

    #[test]
    fn missing_fields_have_their_defaults() {
        check(
            json!({ "event_id": 7 }),
            expect![[
                r#"{"event_id":7,"execution_id":0,"catalog_id":0,"created_at":1794744000000000,"tenant_id":"default","organization_id":"default"}"#
            ]],
        );
        check(
            json!({ "event_id": 7, "execution_id": "", "tenant_id": "", "context": null, "timestamp": "" }),
            expect![[
                r#"{"event_id":7,"execution_id":0,"catalog_id":0,"created_at":1794744000000000,"tenant_id":"default","organization_id":"default"}"#
            ]],
        );
    }

    #[test]
    fn every_reported_event_is_stored() {
        check(
            json!({
                "event_id": "7", "execution_id": "8", "catalog_id": 9, "parent_event_id": 6,
                "event_type": "step.exit", "node_id": "n", "node_name": "n", "node_type": "python",
                "status": "COMPLETED", "duration": "1.5", "context": { "a": [1] }, "result": 2,
                "meta": {}, "error": "e", "stack_trace": "s", "tenant_id": "t",
                "organization_id": "o", "timestamp": "2026-01-02T03:04:05Z",
                "trace_component": "c", "deep": { "x": null },
            }),
            expect![[
                r#"{"event_id":7,"execution_id":8,"catalog_id":9,"created_at":1767323045000000,"tenant_id":"t","organization_id":"o","parent_event_id":6,"event_type":"step.exit","node_id":"n","node_name":"n","node_type":"python","status":"COMPLETED","duration":1.5,"context":{"a":[1]},"result":2,"meta":{},"error":"e","stack_trace":"s","extra":{"trace_component":"c","deep":{"x":null}}}"#
            ]],
        );
    }

    #[test]
    fn a_time_is_understood_with_and_without_a_zone() {
        let at = |value: Value| match envelope_of(value, now()) {
            Ok(envelope) => envelope.created_at.to_string(),
            Err(error) => error.to_string(),
        };
        let time = "2026-01-02T03:04:05.500000Z";
        for text in
            ["2026-01-02T03:04:05.5Z", "2026-01-02 03:04:05.5", "2026-01-02T04:04:05.5+01:00"]
        {
            assert_eq!(at(json!({ "event_id": 1, "timestamp": text })), time, "{text}");
            assert_eq!(at(json!({ "event_id": 1, "created_at": text })), time, "{text}");
        }
        let both =
            json!({ "event_id": 1, "timestamp": time, "created_at": "2025-01-01T00:00:00Z" });
        assert_eq!(at(both), time);
    }

    #[test]
    fn an_invalid_event_is_refused_with_its_reason() {
        check(json!([]), expect!["it is not a map"]);
        check(json!({}), expect!["`event_id` is missing"]);
        check(json!({ "event_id": 1.5 }), expect!["`event_id` is not a whole number"]);
        check(
            json!({ "event_id": 1, "execution_id": "x" }),
            expect!["`execution_id` is not a whole number"],
        );
        check(json!({ "event_id": 1, "duration": "long" }), expect!["`duration` is not a number"]);
        check(json!({ "event_id": 1, "timestamp": "later" }), expect!["`timestamp` is not a time"]);
    }

    #[test]
    fn a_posted_event_becomes_the_same() {
        let check = |value: Value, expected: Expect| {
            expected.assert_eq(&told(posted_envelope_of(value, now(), 99)));
        };
        check(
            json!({ "execution_id": "8", "step": "s", "name": "step.exit", "payload": { "a": 1 } }),
            expect![[
                r#"{"event_id":99,"execution_id":8,"catalog_id":0,"created_at":1794744000000000,"tenant_id":"default","organization_id":"default","event_type":"step.exit","node_id":"s","node_name":"s","status":"COMPLETED","result":{"status":"COMPLETED","context":{"a":1}}}"#
            ]],
        );
        check(
            json!({ "execution_id": 8, "event_id": 7, "event_type": "call.error", "status": "x", "context": 3 }),
            expect![[
                r#"{"event_id":7,"execution_id":8,"catalog_id":0,"created_at":1794744000000000,"tenant_id":"default","organization_id":"default","event_type":"call.error","status":"x","result":{"status":"x"}}"#
            ]],
        );
        check(json!({ "event_type": "x" }), expect!["`execution_id` is missing"]);
        check(json!({ "execution_id": 1 }), expect!["`event_type` is missing"]);
    }
}
