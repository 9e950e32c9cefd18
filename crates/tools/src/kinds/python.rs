//! The tool `python`: runs the code of an execution in a fork of a pooled interpreter, which runs no
//! code itself.
//!
//! The interpreter runs `runner.py`, which is sent to it at its start; nothing is written to disk.
//! An interpreter is not reused if its call was stopped or left processes behind that cannot be
//! killed with certainty.

mod interpreter;
mod pool;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use noetl_model::{ErrorKind, Logs, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::process::source::ScriptSource;
use crate::protect::outgoing::Outgoing;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;
use crate::run::settings::ToolSettings;
pub use interpreter::python_compilation;
use interpreter::{CallResult, InterpreterSettings};
use pool::InterpreterPool;

/// The maximum number of interpreters, other than the default one, that have a pool.
const POOLS_MAX: usize = 16;

pub(crate) struct Python {
    usual: String,
    idle_max: usize,
    interpreters: InterpreterSettings,
    outgoing: Arc<Outgoing>,
    /// The pools, by interpreter program.
    pools: Mutex<BTreeMap<String, Arc<InterpreterPool>>>,
}

/// A request to run code in an interpreter.
#[derive(Debug, Serialize)]
struct RunRequest<'a> {
    code: String,
    filename: String,
    input: &'a Map<String, Value>,
    variables: &'a BTreeMap<String, Arc<Value>>,
    execution_id: String,
    step: &'a str,
    libs: Option<&'a Value>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
}

/// The end of a request.
#[derive(Debug)]
enum PythonResult {
    /// The result of the code; null if there is none.
    Value(Value),
    Error(Raised),
}

/// An exception raised by the code.
#[derive(Debug, Deserialize)]
struct Raised {
    kind: ErrorKind,
    code: String,
    message: String,
    details: Option<Value>,
}

impl Python {
    pub(crate) fn new(settings: &ToolSettings, outgoing: Arc<Outgoing>) -> Self {
        Self {
            usual: settings.python.clone(),
            idle_max: settings.python_idle_max,
            interpreters: InterpreterSettings {
                environment: settings.environment.clone(),
                isolation: settings.isolation.clone(),
                user_site: settings.python_user_site,
            },
            outgoing,
            pools: Mutex::new(BTreeMap::new()),
        }
    }

    /// Reads the configuration and loads the code.
    async fn prepare<'a>(
        &self,
        call: &'a Call,
    ) -> Result<(Arc<InterpreterPool>, RunRequest<'a>), ToolError> {
        let keys = ToolConfig::of_call("python", call);
        let program = interpreter_named(keys)?.unwrap_or_else(|| self.usual.clone());
        let cwd = keys.directory(&["cwd"])?;
        let libs = keys.value(&["libs"]);
        if let Some(other) = libs.filter(|libs| libs.is_boolean() || libs.is_number()) {
            return Err(keys.wrong(
                "libs",
                "a list of modules or a map of names to modules",
                other,
            ));
        }
        let source = ScriptSource::read(keys, cwd.as_deref(), &call.label)?;
        let source = source.load(keys, &self.outgoing, &call.memory).await?;
        let mut env: BTreeMap<String, String> =
            call.environment().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        env.extend(keys.texts(&["env"])?);
        let request = RunRequest {
            code: source.code,
            filename: source.filename,
            input: &call.input,
            variables: &call.variables,
            execution_id: call.execution.to_string(),
            step: call.step.as_str(),
            libs,
            env,
            cwd,
        };
        Ok((self.pool(&program), request))
    }

    async fn run_code(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let prepared = async {
            let (pool, request) = self.prepare(call).await?;
            Ok::<_, ToolError>((pool.take(call.execution).await?, pool, request))
        };
        let (mut interpreter, pool, request) = tokio::select! {
            prepared = prepared => prepared?,
            () = call.cancel.cancelled() => return Ok(ToolResult::stopped(Logs::default())),
        };
        let talk = interpreter.run(&request, call).await;
        let logs = interpreter.take_logs();
        pool.give_back(interpreter);
        Ok(match talk {
            CallResult::Replied(end) => ended(end, logs),
            CallResult::Stopped => ToolResult::stopped(logs),
            CallResult::Broke(how) => {
                let message = format!("the Python interpreter ended with {how}");
                ToolResult::failed(ToolError::new(ErrorKind::Exception, message)).with_logs(logs)
            }
        })
    }

    fn pool(&self, interpreter: &str) -> Arc<InterpreterPool> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if !pools.contains_key(interpreter) && POOLS_MAX <= pools.len() {
            pools.clear();
        }
        let pool = pools.entry(interpreter.to_owned()).or_insert_with(|| {
            Arc::new(InterpreterPool::new(
                interpreter.to_owned(),
                self.interpreters.clone(),
                self.idle_max,
            ))
        });
        pool.clone()
    }
}

#[async_trait]
impl Tool for Python {
    async fn run(&self, call: &Call) -> ToolResult {
        self.run_code(call).await.into()
    }
}

/// Returns the interpreter that the configuration names: a program, or the one of a virtual
/// environment.
fn interpreter_named(keys: ToolConfig<'_>) -> Result<Option<String>, ToolError> {
    let Some(venv) = keys.text(&["venv", "virtualenv"])? else { return keys.text(&["python"]) };
    if keys.value(&["python"]).is_some() {
        return Err(keys.error("give `venv` or `python`, not both"));
    }
    let program = PathBuf::from(&venv).join("bin/python");
    let program = std::path::absolute(&program).unwrap_or(program);
    if !program.exists() {
        return Err(keys.error(format!(
            "`venv` is not a virtual environment: {venv} has no bin/python; make one with \
             `python3 -m venv {venv}`"
        )));
    }
    Ok(Some(program.display().to_string()))
}

/// Converts the end of a request; code without a result returns its printed output.
fn ended(end: PythonResult, logs: Logs) -> ToolResult {
    match end {
        PythonResult::Value(Value::Null) => {
            ToolResult::completed(json!({"stdout": logs.stdout, "stderr": logs.stderr}))
        }
        PythonResult::Value(value) => ToolResult::completed(value),
        PythonResult::Error(raised) => {
            let mut error = ToolError::new(raised.kind, raised.message).with_code(raised.code);
            error.details = raised.details.map(Box::new);
            ToolResult::failed(error)
        }
    }
    .with_logs(logs)
}

#[cfg(test)]
mod tests;
