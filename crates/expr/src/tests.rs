//! Tests of templates and conditions, as tables of inputs and expected outputs.

mod attacks;
mod budgets;
mod conditions;
mod errors;
mod facts;
mod mentions;
mod properties;
mod rendering;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Template, VariableSource};

/// Variables from one JSON object.
struct Given(BTreeMap<String, Arc<Value>>);

impl From<Value> for Given {
    fn from(variables: Value) -> Self {
        let Value::Object(members) = variables else { panic!("variables have names") };
        Self(members.into_iter().map(|(name, value)| (name, Arc::new(value))).collect())
    }
}

impl VariableSource for Given {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        self.0.get(name).cloned()
    }
}

/// Renders a template; returns the error as text.
fn render(template: Value, variables: Value) -> Result<Value, String> {
    render_with(template, &Given::from(variables))
}

fn render_with(template: Value, given: &Given) -> Result<Value, String> {
    let template = Template::parse(template).map_err(|it| it.to_string())?;
    template.render(given).map_err(|it| it.to_string())
}

/// Runs a function and measures the time it takes.
#[expect(clippy::disallowed_types, reason = "a test may hold a stopwatch, a template may not")]
fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let started = std::time::Instant::now();
    let result = run();
    (result, started.elapsed())
}

/// Variables with values of every type.
fn sample() -> Value {
    json!({
        "workload": {"url": "http://a/b?x=1&y='2'", "items": [1, 2, 3], "name": "Ann", "empty": []},
        "start": {"items": ["a", "b"], "get": 7, "keys": "k"},
        "users": [
            {"name": "bo", "age": 3, "tags": ["x"]},
            {"name": "al", "age": 1, "tags": []},
            {"name": "cy", "age": 2, "tags": ["x", "y"]},
        ],
        "n": null, "t": true, "f": false, "zero": 0, "one": 1, "half": 0.5, "two": 2.0,
        "big": 9_007_199_254_740_993_i64, "huge": 18_446_744_073_709_551_615_u64,
        "digits": "007", "yes": "true", "quote": "it's <b>&", "text": "  Hello World  ",
        "csv": "a,b,c", "json": "{\"a\": [1, null]}", "output": {"error": null},
        "_index": 4, "lines": "a\nb\nc",
    })
}
