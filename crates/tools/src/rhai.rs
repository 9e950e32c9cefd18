//! `rhai`: a small script in this process, on a thread of its own and within tight bounds.
//!
//! A script reaches its variables, and the network as far as the `http` tool does: no files, no
//! modules, no `eval`.

mod functions;
mod requests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::rhai::module_resolvers::DummyModuleResolver;
use ::rhai::serde::{from_dynamic, to_dynamic};
use ::rhai::{Dynamic, Engine, EvalAltResult, Position, Scope};
use async_trait::async_trait;
use noetl_model::{ErrorKind, ToolError};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::call::{Call, Ended, Tool};
use crate::capture::{Capture, Printed};
use crate::keys::Keys;
use crate::outgoing::Outgoing;
use crate::redactor::Redactor;
use requests::Requests;

const OPERATIONS_MAX: u64 = 10_000_000;
const STRING_BYTES_MAX: usize = 4 * 1024 * 1024;
const ARRAY_ITEMS_MAX: usize = 100_000;
const MAP_ENTRIES_MAX: usize = 100_000;
const CALL_LEVELS_MAX: usize = 64;
const EXPRESSION_DEPTH_MAX: usize = 64;
const FUNCTIONS_MAX: usize = 500;
const VARIABLES_MAX: usize = 10_000;
/// Room for [`CALL_LEVELS_MAX`] calls of the interpreter in itself, also in an unoptimized build.
const STACK_BYTES: usize = 32 * 1024 * 1024;
/// How many operations pass between two looks at whether to stop.
const STOP_CHECK_OPERATIONS: u64 = 1024;
const SLEEP_SLICE: Duration = Duration::from_millis(20);

pub(crate) struct Rhai {
    outgoing: Arc<Outgoing>,
}

impl Rhai {
    pub(crate) fn new(outgoing: Arc<Outgoing>) -> Self {
        Self { outgoing }
    }
}

#[async_trait]
impl Tool for Rhai {
    async fn run(&self, call: &Call) -> Ended {
        let code = match Keys::new("rhai", &call.config).required_text(&["code"]) {
            Ok(code) => code,
            Err(error) => return Ended::failed(error),
        };
        let scope = scope(call);
        let requests = Requests {
            outgoing: self.outgoing.clone(),
            runtime: Handle::current(),
            stop: call.cancel.clone(),
        };
        let redactor = call.used.redactor();
        let (done, ended) = tokio::sync::oneshot::channel();
        let thread = std::thread::Builder::new().name("rhai".into()).stack_size(STACK_BYTES);
        let started = thread.spawn(move || {
            // Nobody listens any more if the command was given up.
            let _ = done.send(evaluate(&code, scope, requests, &redactor));
        });
        if let Err(error) = started {
            let message = format!("rhai: cannot start a thread: {error}");
            return Ended::failed(ToolError::new(ErrorKind::Unknown, message));
        }
        ended.await.unwrap_or_else(|_| {
            Ended::failed(ToolError::new(ErrorKind::Unknown, "rhai: the interpreter panicked"))
        })
    }
}

/// Everything the command came with, then the arguments, which win.
fn scope(call: &Call) -> Vec<(String, Value)> {
    let variables = call.variables.iter().map(|(name, value)| (name.clone(), (**value).clone()));
    let arguments = call.input.iter().map(|(name, value)| (name.clone(), value.clone()));
    let all = Value::Object(call.input.clone());
    variables
        .chain([("input".to_owned(), all.clone()), ("args".to_owned(), all)])
        .chain([("execution_id".to_owned(), call.execution.to_string().into())])
        .chain(arguments)
        .collect()
}

fn evaluate(
    code: &str,
    variables: Vec<(String, Value)>,
    requests: Requests,
    redactor: &Redactor,
) -> Ended {
    let printed = Arc::new(Mutex::new(Printed::new(redactor)));
    let mut engine = engine(&printed, &requests.stop);
    requests.add_to(&mut engine);
    let result = scope_of(variables)
        .and_then(|mut scope| engine.eval_with_scope::<Dynamic>(&mut scope, code))
        .and_then(|value| from_dynamic::<Value>(&value));
    let ended = match result {
        Ok(output) => Ended::completed(output),
        Err(error) => Ended::failed(script_error(code, &error)),
    };
    ended.with_logs(lock(&printed).take())
}

fn scope_of(variables: Vec<(String, Value)>) -> Result<Scope<'static>, Box<EvalAltResult>> {
    let mut scope = Scope::new();
    for (name, value) in variables {
        scope.set_or_push(name, to_dynamic(value)?);
    }
    Ok(scope)
}

fn engine(printed: &Arc<Mutex<Printed>>, cancel: &CancellationToken) -> Engine {
    let mut engine = Engine::new();
    engine
        .set_max_operations(OPERATIONS_MAX)
        .set_max_string_size(STRING_BYTES_MAX)
        .set_max_array_size(ARRAY_ITEMS_MAX)
        .set_max_map_size(MAP_ENTRIES_MAX)
        .set_max_call_levels(CALL_LEVELS_MAX)
        .set_max_expr_depths(EXPRESSION_DEPTH_MAX, EXPRESSION_DEPTH_MAX)
        .set_max_functions(FUNCTIONS_MAX)
        .set_max_variables(VARIABLES_MAX)
        .set_max_modules(0)
        .set_module_resolver(DummyModuleResolver::new())
        .disable_symbol("eval");
    let stop = cancel.clone();
    engine.on_progress(move |count| {
        (count % STOP_CHECK_OPERATIONS == 0 && stop.is_cancelled()).then(|| "stopped".into())
    });
    let (out, err) = (printed.clone(), printed.clone());
    engine.on_print(move |text| push_line(&mut lock(&out).stdout, text));
    engine.on_debug(move |text, _, _| push_line(&mut lock(&err).stderr, text));
    for name in ["log", "info", "warn", "error"] {
        let err = printed.clone();
        engine.register_fn(name, move |value: Dynamic| {
            push_line(&mut lock(&err).stderr, &value.to_string());
        });
    }
    engine.register_fn("parse_json", parse_json).register_fn("to_json", to_json);
    functions::add_to(&mut engine);
    let stop = cancel.clone();
    engine.register_fn("sleep_ms", move |millis: i64| sleep(millis as f64 / 1000.0, &stop));
    let stop = cancel.clone();
    engine.register_fn("sleep", move |seconds: i64| sleep(seconds as f64, &stop));
    let stop = cancel.clone();
    engine.register_fn("sleep", move |seconds: f64| sleep(seconds, &stop));
    engine
}

fn parse_json(text: &str) -> Result<Dynamic, Box<EvalAltResult>> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("parse_json: not JSON: {error}"))?;
    to_dynamic(value)
}

fn to_json(value: Dynamic) -> Result<String, Box<EvalAltResult>> {
    from_dynamic::<Value>(&value).map(|value| value.to_string())
}

/// Sleeps in slices, so that a script that is told to stop does.
fn sleep(seconds: f64, stop: &CancellationToken) {
    let mut left = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
    while !left.is_zero() && !stop.is_cancelled() {
        let slice = left.min(SLEEP_SLICE);
        std::thread::sleep(slice);
        left -= slice;
    }
}

fn script_error(code: &str, error: &EvalAltResult) -> ToolError {
    let at = error.position();
    let line = at.line().and_then(|line| code.lines().nth(line - 1)).map(str::trim);
    let details = match (at, line) {
        (Position::NONE, _) | (_, None) => None,
        (at, Some(text)) => Some(json!({"line": at.line(), "source": text})),
    };
    let tool_error = ToolError::new(ErrorKind::Exception, error.to_string());
    match details {
        Some(details) => tool_error.with_details(details),
        None => tool_error,
    }
}

fn lock(printed: &Mutex<Printed>) -> MutexGuard<'_, Printed> {
    printed.lock().unwrap_or_else(PoisonError::into_inner)
}

fn push_line(capture: &mut Capture, text: &str) {
    capture.push(text.as_bytes());
    capture.push(b"\n");
}

#[cfg(test)]
mod tests;
