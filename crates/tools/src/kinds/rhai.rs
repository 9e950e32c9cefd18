//! The tool `rhai`: runs a small script inside this process, on a separate thread and with tight
//! limits.
//!
//! A script can use its variables, and the network under the rules of the `http` tool: no files, no
//! modules, no `eval`. Threads, interpreters and compiled scripts are reused; variables are not.

mod engine;
mod functions;
mod requests;
mod scripts;
mod threads;

use std::collections::BTreeMap;
use std::sync::Arc;

use ::rhai::serde::to_dynamic;
use ::rhai::{Dynamic, EvalAltResult, Position};
use async_trait::async_trait;
use noetl_model::{ErrorKind, Logs, ToolError};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use crate::process::capture::Printed;
use crate::protect::outgoing::Outgoing;
use crate::protect::redactor::Redactor;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;
use crate::run::live::LiveLog;
use engine::{RhaiInterpreter, ScriptFailure};
use requests::Requests;
use scripts::Scripts;
use threads::{THREADS_MAX, Threads};

pub(crate) struct Rhai {
    outgoing: Arc<Outgoing>,
    scripts: Arc<Scripts>,
    threads: Threads,
}

impl Rhai {
    pub(crate) fn new(outgoing: Arc<Outgoing>) -> Self {
        let (scripts, threads) = (Arc::new(Scripts::new()), Threads::new(THREADS_MAX));
        Self { outgoing, scripts, threads }
    }
}

/// Checks the syntax of scripts without running them.
pub struct RhaiSyntax(RhaiInterpreter);

impl RhaiSyntax {
    #[expect(clippy::new_without_default, reason = "an interpreter is expensive to make")]
    pub fn new() -> Self {
        Self(RhaiInterpreter::new())
    }

    /// Returns the line and the message of a syntax error.
    pub fn fault(&self, code: &str) -> Option<(usize, String)> {
        let error = self.0.compile(code).err()?;
        let line = error.position().line().unwrap_or(1);
        let message = error.to_string();
        let message = message.split(" (line ").next().unwrap_or(&message);
        Some((line, message.trim_start_matches("Syntax error: ").to_owned()))
    }
}

/// A script with its variables and its access to the network.
struct RhaiCall {
    code: String,
    variables: BTreeMap<String, Arc<Value>>,
    input: Map<String, Value>,
    execution: String,
    requests: Requests,
    redactor: Redactor,
    live: LiveLog,
}

#[async_trait]
impl Tool for Rhai {
    async fn run(&self, call: &Call) -> ToolResult {
        let code = match ToolConfig::new("rhai", &call.config).required_text(&["code"]) {
            Ok(code) => code,
            Err(error) => return ToolResult::failed(error),
        };
        let work = RhaiCall {
            code,
            variables: call.variables.clone(),
            input: call.input.clone(),
            execution: call.execution.to_string(),
            requests: Requests {
                outgoing: self.outgoing.clone(),
                runtime: Handle::current(),
                stop: call.cancel.clone(),
                memory: call.memory.clone(),
            },
            redactor: call.used.redactor(),
            live: call.live.clone(),
        };
        let (done, ended) = tokio::sync::oneshot::channel();
        let scripts = self.scripts.clone();
        let started = self.threads.run(Box::new(move |interpreter| {
            let ended = evaluate(work, &scripts, interpreter);
            // The receiver is gone if the command was abandoned.
            Box::new(move || drop(done.send(ended)))
        }));
        if let Err(error) = started {
            let message = format!("rhai: cannot start a thread: {error}");
            return ToolResult::failed(ToolError::new(ErrorKind::Unknown, message));
        }
        ended.await.unwrap_or_else(|_| {
            ToolResult::failed(ToolError::new(ErrorKind::Unknown, "rhai: the interpreter panicked"))
        })
    }
}

fn evaluate(work: RhaiCall, scripts: &Scripts, interpreter: &RhaiInterpreter) -> ToolResult {
    if work.requests.stop.is_cancelled() {
        return ToolResult::stopped(Logs::default());
    }
    let prepared = work
        .variables()
        .and_then(|variables| Ok((variables, scripts.get(&work.code, interpreter)?)));
    let (result, logs) = match prepared {
        Ok((variables, script)) => {
            let mut printed = Printed::new(&work.redactor);
            printed.send_to(&work.live);
            interpreter.evaluate(&script, variables, (work.requests, printed))
        }
        Err(error) => (Err(ScriptFailure::Script(error)), Logs::default()),
    };
    let ended = match result {
        Ok(output) => ToolResult::completed(output),
        Err(ScriptFailure::Script(error)) => ToolResult::failed(script_error(&work.code, &error)),
        Err(ScriptFailure::Memory(error)) => ToolResult::failed(error),
    };
    ended.with_logs(logs)
}

impl RhaiCall {
    /// Returns the values of the command, then the arguments, which take precedence.
    fn variables(&self) -> Result<Vec<(String, Dynamic)>, Box<EvalAltResult>> {
        let all = to_dynamic(&self.input)?;
        let mut variables = Vec::with_capacity(self.variables.len() + self.input.len() + 3);
        for (name, value) in &self.variables {
            variables.push((name.clone(), to_dynamic(&**value)?));
        }
        variables.push(("input".to_owned(), all.clone()));
        variables.push(("args".to_owned(), all));
        variables.push(("execution_id".to_owned(), self.execution.clone().into()));
        for (name, value) in &self.input {
            variables.push((name.clone(), to_dynamic(value)?));
        }
        Ok(variables)
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

#[cfg(test)]
mod tests;
