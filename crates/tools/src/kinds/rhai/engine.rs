//! The interpreter of a script thread, and the call that it currently runs.
//!
//! The engine of a thread is built once and never changed: its functions get the current call from
//! [`with_current`], so that no call can see data of another.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ::rhai::module_resolvers::DummyModuleResolver;
use ::rhai::serde::{from_dynamic, to_dynamic};
use ::rhai::{AST, Dynamic, Engine, EvalAltResult, Scope};
use noetl_model::{Footprint, Logs, ToolError, Unmeasured};
use noetl_thread_memory::held;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::functions;
use super::requests::{self, Requests};
use crate::process::capture::{Capture, Printed};
use crate::run::memory::too_large;

const OPERATIONS_MAX: u64 = 10_000_000;
const STRING_BYTES_MAX: usize = 4 * 1024 * 1024;
const ARRAY_ITEMS_MAX: usize = 100_000;
const MAP_ENTRIES_MAX: usize = 100_000;
const CALL_LEVELS_MAX: usize = 64;
const EXPRESSION_DEPTH_MAX: usize = 64;
const FUNCTIONS_MAX: usize = 500;
const VARIABLES_MAX: usize = 10_000;
/// The number of operations between two checks for cancellation.
const STOP_CHECK_OPERATIONS: u64 = 1024;
const SLEEP_SLICE: Duration = Duration::from_millis(20);

/// The step in which memory is reserved for the values of a script.
const MEMORY_STEP: isize = 8 * 1024 * 1024;

thread_local! {
    /// The memory that this thread may hold before more is reserved for its call.
    static MEMORY_LIMIT: Cell<isize> = const { Cell::new(isize::MAX) };
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// The call that a thread is running.
struct Current {
    printed: Printed,
    requests: Requests,
    /// The reason why the script got no more memory.
    refusal: Option<ToolError>,
}

/// Clears the current call when dropped, also if the call panics.
struct Cleared;

impl Drop for Cleared {
    fn drop(&mut self) {
        CURRENT.take();
        MEMORY_LIMIT.set(isize::MAX);
    }
}

/// Passes the current call of this thread to a function of its script.
fn with_current<T>(act: impl FnOnce(&mut Current) -> T) -> T {
    CURRENT.with_borrow_mut(|current| act(current.as_mut().expect("a script runs for a call")))
}

/// Returns the network access of the running script.
pub(super) fn current_requests() -> Requests {
    with_current(|current| current.requests.clone())
}

fn stop() -> CancellationToken {
    with_current(|current| current.requests.stop.clone())
}

/// The interpreter of one thread.
pub(super) struct RhaiInterpreter {
    engine: Engine,
}

impl RhaiInterpreter {
    pub(super) fn new() -> Self {
        Self { engine: engine() }
    }

    pub(super) fn compile(&self, code: &str) -> Result<AST, Box<EvalAltResult>> {
        Ok(self.engine.compile(code)?)
    }

    /// Runs a script with its variables; returns its value and its output.
    pub(super) fn evaluate(
        &self,
        script: &AST,
        variables: Vec<(String, Dynamic)>,
        (requests, printed): (Requests, Printed),
    ) -> (Result<Value, ScriptFailure>, Logs) {
        let _cleared = Cleared;
        CURRENT.set(Some(Current { printed, requests, refusal: None }));
        MEMORY_LIMIT.set(held() + MEMORY_STEP);
        let mut scope = Scope::new();
        for (name, value) in variables {
            scope.set_or_push(name, value);
        }
        let result = self
            .engine
            .eval_ast_with_scope::<Dynamic>(&mut scope, script)
            .and_then(|value| from_dynamic::<Value>(&value));
        with_current(|current| {
            let result = match current.refusal.take() {
                Some(refusal) => Err(ScriptFailure::Memory(refusal)),
                None => result.map_err(ScriptFailure::Script),
            };
            (result, current.printed.take())
        })
    }
}

/// The reason why a script did not end with a value.
pub(super) enum ScriptFailure {
    Script(Box<EvalAltResult>),
    /// The memory of its call, or of all calls, is exhausted.
    Memory(ToolError),
}

/// Reserves memory for the values of the running script; waits while other calls hold the memory.
/// Returns false if the script is over.
fn reserve_more() -> bool {
    let requests = current_requests();
    let wanted = held().saturating_sub(MEMORY_LIMIT.get()).max(0).saturating_add(MEMORY_STEP);
    let reserving = requests.memory.reserve(wanted.unsigned_abs());
    let reserved = requests.runtime.block_on(requests.stop.run_until_cancelled(reserving));
    match reserved {
        Some(Ok(())) => {
            MEMORY_LIMIT.set(MEMORY_LIMIT.get().saturating_add(wanted));
            true
        }
        Some(Err(limit)) => {
            let refusal = too_large("the values of the script", &limit);
            with_current(|current| current.refusal = Some(refusal));
            false
        }
        None => false,
    }
}

fn engine() -> Engine {
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
    engine.on_progress(|count| {
        if held() > MEMORY_LIMIT.get() && !reserve_more() {
            return Some("out of memory".into());
        }
        (count % STOP_CHECK_OPERATIONS == 0 && stop().is_cancelled()).then(|| "stopped".into())
    });
    engine.on_print(|text| with_current(|current| push_line(&mut current.printed.stdout, text)));
    engine.on_debug(|text, _, _| log(text));
    for name in ["log", "info", "warn", "error"] {
        engine.register_fn(name, |value: Dynamic| log(&value.to_string()));
    }
    engine.register_fn("parse_json", parse_json).register_fn("to_json", to_json);
    functions::add_to(&mut engine);
    requests::add_to(&mut engine);
    engine.register_fn("sleep_ms", |millis: i64| sleep(millis as f64 / 1000.0));
    engine.register_fn("sleep", |seconds: i64| sleep(seconds as f64));
    engine.register_fn("sleep", sleep);
    engine
}

fn log(text: &str) {
    with_current(|current| push_line(&mut current.printed.stderr, text));
}

fn push_line(capture: &mut Capture, text: &str) {
    capture.push(text.as_bytes());
    capture.push(b"\n");
}

fn parse_json(text: &str) -> Result<Dynamic, Box<EvalAltResult>> {
    let limits = with_current(|current| current.requests.memory.limits());
    match Footprint::of_json(text.as_bytes(), limits) {
        Ok(_) => {}
        Err(Unmeasured::TooLarge(limit)) => return Err(format!("parse_json: {limit}").into()),
        Err(Unmeasured::NotJson(error)) => {
            return Err(format!("parse_json: not JSON: {error}").into());
        }
    }
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("parse_json: not JSON: {error}"))?;
    to_dynamic(value)
}

fn to_json(value: Dynamic) -> Result<String, Box<EvalAltResult>> {
    from_dynamic::<Value>(&value).map(|value| value.to_string())
}

/// Sleeps in slices, so that a cancelled script stops soon.
fn sleep(seconds: f64) {
    let stop = stop();
    let mut left = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
    while !left.is_zero() && !stop.is_cancelled() {
        let slice = left.min(SLEEP_SLICE);
        std::thread::sleep(slice);
        left -= slice;
    }
}
