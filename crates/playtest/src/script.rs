//! Rhai scripts of a test: the ones that mock a call, and those of steps of kind `rhai`.
//!
//! Scripts are deterministic: the time is the virtual one, `sleep` takes none, and there is no
//! network and no random number.

use std::cell::Cell;

use noetl_model::{ErrorKind, Timestamp, ToolError};
use rhai::module_resolvers::DummyModuleResolver;
use rhai::serde::{from_dynamic, to_dynamic};
use rhai::{Array, Dynamic, Engine, EvalAltResult, Scope};
use serde_json::Value;

const OPERATIONS_MAX: u64 = 10_000_000;
const STRING_BYTES_MAX: usize = 4 * 1024 * 1024;
const ELEMENTS_MAX: usize = 100_000;
const CALL_LEVELS_MAX: usize = 64;
const EXPRESSION_DEPTH_MAX: usize = 64;

/// The functions of the tool `rhai` whose results a test cannot know.
const OUTSIDE_FUNCTIONS: [&str; 5] = ["http_", "random_", "sha256_hex", "hmac_sha256_hex", "eq_ct"];

thread_local! {
    /// The interpreter of a thread, which is expensive to build and keeps nothing of a script.
    static ENGINE: Engine = engine();
    /// The virtual time of the script that runs.
    static NOW: Cell<Timestamp> = const { Cell::new(Timestamp::from_micros(0)) };
}

/// The end of a script that has no value.
#[derive(Debug)]
pub(crate) enum ScriptEnd {
    /// The script has thrown a value.
    Thrown(Value),
    /// The script calls a function that needs a mock.
    NeedsMock { function: String },
    /// The script is wrong.
    Wrong(ToolError),
}

/// Runs a script with the given variables, at a virtual time.
pub(crate) fn run_script(
    code: &str,
    variables: Vec<(String, Value)>,
    now: Timestamp,
) -> Result<Value, ScriptEnd> {
    NOW.set(now);
    let mut scope = Scope::new();
    for (name, value) in variables {
        let value = to_dynamic(value).map_err(|error| ended(*error))?;
        scope.set_or_push(name, value);
    }
    let value = ENGINE.with(|engine| engine.eval_with_scope::<Dynamic>(&mut scope, code));
    value.and_then(|value| from_dynamic(&value)).map_err(|error| ended(*error))
}

fn engine() -> Engine {
    let mut engine = Engine::new();
    engine
        .set_max_operations(OPERATIONS_MAX)
        .set_max_string_size(STRING_BYTES_MAX)
        .set_max_array_size(ELEMENTS_MAX)
        .set_max_map_size(ELEMENTS_MAX)
        .set_max_call_levels(CALL_LEVELS_MAX)
        .set_max_expr_depths(EXPRESSION_DEPTH_MAX, EXPRESSION_DEPTH_MAX)
        .set_max_modules(0)
        .set_module_resolver(DummyModuleResolver::new())
        .disable_symbol("eval")
        .on_print(|_| {})
        .on_debug(|_, _, _| {});
    for name in ["log", "info", "warn", "error"] {
        engine.register_fn(name, |_: Dynamic| {});
    }
    engine.register_fn("timestamp", || NOW.get().as_millis().div_euclid(1000));
    engine.register_fn("timestamp_ms", || NOW.get().as_millis());
    engine.register_fn("sleep", |_: i64| {}).register_fn("sleep", |_: f64| {});
    engine.register_fn("sleep_ms", |_: i64| {});
    engine.register_fn("contains_any", |text: &str, parts: Array| {
        parts.iter().any(|part| text.contains(&part.to_string()))
    });
    engine.register_fn("parse_json", |text: &str| -> Result<Dynamic, Box<EvalAltResult>> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("parse_json: not JSON: {error}"))?;
        to_dynamic(value)
    });
    engine.register_fn("to_json", |value: Dynamic| -> Result<String, Box<EvalAltResult>> {
        from_dynamic::<Value>(&value).map(|value| value.to_string())
    });
    engine
}

fn ended(error: EvalAltResult) -> ScriptEnd {
    if let EvalAltResult::ErrorRuntime(value, _) = &error
        && let Ok(value) = from_dynamic::<Value>(value)
    {
        return ScriptEnd::Thrown(value);
    }
    if let EvalAltResult::ErrorFunctionNotFound(signature, _) = &error {
        let function = signature.split(['(', ' ']).next().unwrap_or_default();
        if OUTSIDE_FUNCTIONS.iter().any(|outside| function.starts_with(outside)) {
            return ScriptEnd::NeedsMock { function: function.to_owned() };
        }
    }
    ScriptEnd::Wrong(ToolError::new(ErrorKind::Exception, error.to_string()))
}

/// Returns the error of a tool for a value that a mock has thrown: a message, or a map with `kind`
/// and `message`.
pub(crate) fn thrown_error(value: &Value) -> ToolError {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let kind = text("kind")
        .and_then(|wanted| ErrorKind::ALL.iter().copied().find(|kind| kind.as_str() == wanted));
    let message = match (value, text("message")) {
        (Value::String(message), _) => message.clone(),
        (_, Some(message)) => message.to_owned(),
        (_, None) => value.to_string(),
    };
    let error = ToolError::new(kind.unwrap_or(ErrorKind::Exception), message);
    let status = value.get("status").and_then(Value::as_u64);
    ToolError {
        retryable: value.get("retryable").and_then(Value::as_bool).unwrap_or(error.retryable),
        code: text("code").map(str::to_owned),
        status: status.and_then(|status| u16::try_from(status).ok()),
        ..error
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(code: &str) -> Result<Value, ScriptEnd> {
        let input = ("input".to_owned(), json!({ "page": 2 }));
        run_script(code, vec![input], Timestamp::from_millis(1_500_700))
    }

    #[test]
    fn a_script_reads_its_variables_and_the_virtual_time() {
        let found =
            run("sleep(60); #{ next: input.page + 1, at: timestamp(), ms: timestamp_ms() }");
        assert_eq!(found.expect("a value"), json!({ "next": 3, "at": 1500, "ms": 1_500_700 }));
    }

    #[test]
    fn a_thrown_map_becomes_an_error_of_its_kind() {
        let Err(ScriptEnd::Thrown(value)) = run("throw #{ kind: \"timeout\", message: \"slow\" }")
        else {
            panic!("nothing was thrown");
        };
        let error = thrown_error(&value);
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Timeout, "slow"));
        assert!(error.retryable);
        assert_eq!(thrown_error(&json!("no")).kind, ErrorKind::Exception);
    }

    #[test]
    fn the_network_needs_a_mock_and_a_mistake_is_an_error() {
        let needs = run("http_get(\"http://x\")");
        assert!(matches!(needs, Err(ScriptEnd::NeedsMock { function }) if function == "http_get"));
        assert!(matches!(run("nothing + 1"), Err(ScriptEnd::Wrong(_))));
        assert!(matches!(run("loop { }"), Err(ScriptEnd::Wrong(_))));
    }
}
