//! The result of a call in a test: of its mock, or of a tool that needs none.

use std::time::Duration;

use noetl_engine::CommandResult;
use noetl_model::{ErrorKind, Payload, Timestamp, ToolError, ToolKind};
use noetl_playbook::{MockResult, StepMock};
use serde_json::{Map, Value, json};

use crate::call::{RenderedCall, RenderedSettings};
use crate::script::{ScriptEnd, run_script, thrown_error};

/// The result of a call, and the virtual time that it takes.
#[derive(Debug)]
pub(crate) struct CallEnd {
    pub(crate) delay: Duration,
    pub(crate) ended: CommandResult,
}

impl CallEnd {
    pub(crate) fn failed(error: ToolError) -> Self {
        Self { delay: Duration::ZERO, ended: CommandResult::Failed { error, output: None } }
    }

    fn completed(output: Value) -> Self {
        let output = Payload::inline(output);
        Self { delay: Duration::ZERO, ended: CommandResult::Completed { output } }
    }
}

/// The reason why a call has no result.
#[derive(Debug)]
pub(crate) enum CallProblem {
    /// No mock of the test matches.
    Unmocked {
        /// True if the step has mocks, none of which matches.
        has_others: bool,
    },
    /// A step of kind `rhai` calls a function whose result a test cannot know.
    ScriptNeedsMock { function: String },
    /// The script of a mock is wrong.
    MockScript(String),
}

/// Returns the first mock that matches a call.
pub(crate) fn matching_mock<'m>(
    mocks: Option<&'m Vec<StepMock>>,
    call: &RenderedCall,
) -> Option<&'m StepMock> {
    mocks?.iter().find(|mock| {
        mock.task.as_ref().is_none_or(|task| *task == call.task)
            && mock.item.is_none_or(|item| Some(item) == call.item)
            && mock.attempt.is_none_or(|attempt| attempt == call.attempt)
            && mock.call.is_none_or(|number| number == call.call)
    })
}

/// Returns the result of a mock. A call that takes longer than its timeout fails as its worker would
/// fail it.
pub(crate) fn mocked_end(
    mock: &StepMock,
    call: &RenderedCall,
    timeout: Option<Duration>,
    now: Timestamp,
) -> Result<CallEnd, CallProblem> {
    if let Some(timeout) = timeout.filter(|timeout| mock.delay > *timeout) {
        let message = format!("took longer than {timeout:?} and was stopped");
        let error = ToolError::new(ErrorKind::Timeout, message);
        return Ok(CallEnd { delay: timeout, ..CallEnd::failed(error) });
    }
    let ended = match &mock.result {
        MockResult::Output(output) => {
            CommandResult::Completed { output: Payload::inline(output.clone()) }
        }
        MockResult::Error { error, output } => CommandResult::Failed {
            error: error.clone(),
            output: output.clone().map(Payload::inline),
        },
        MockResult::Script(code) => scripted(code, call, now)?,
    };
    Ok(CallEnd { delay: mock.delay, ended })
}

fn scripted(code: &str, call: &RenderedCall, now: Timestamp) -> Result<CommandResult, CallProblem> {
    let input = call.with.get("input").cloned().unwrap_or_else(|| json!({}));
    let variables = [
        ("input", input),
        ("config", call.with.clone()),
        ("step", json!(call.step.as_str())),
        ("task", json!(call.task)),
        ("item", json!(call.item)),
        ("attempt", json!(call.attempt)),
        ("call", json!(call.call)),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    match run_script(code, variables.into(), now) {
        Ok(output) => Ok(CommandResult::Completed { output: Payload::inline(output) }),
        Err(ScriptEnd::Thrown(value)) => {
            Ok(CommandResult::Failed { error: thrown_error(&value), output: None })
        }
        Err(ScriptEnd::NeedsMock { function }) => {
            Err(CallProblem::MockScript(format!("`{function}` cannot be used in a mock")))
        }
        Err(ScriptEnd::Wrong(error)) => Err(CallProblem::MockScript(error.message)),
    }
}

/// Returns the result of a tool that needs no mock.
pub(crate) fn unmocked_end(
    call: &RenderedCall,
    settings: &RenderedSettings,
    (has_others, allow_unmocked): (bool, bool),
    now: Timestamp,
) -> Result<CallEnd, CallProblem> {
    if call.tool == ToolKind::Noop {
        Ok(CallEnd::completed(noop(&settings.config)))
    } else if call.tool == ToolKind::Rhai {
        rhai_step(settings, now)
    } else if allow_unmocked {
        Ok(CallEnd::completed(json!({ "status": "ok" })))
    } else {
        Err(CallProblem::Unmocked { has_others })
    }
}

/// Returns the output of the tool `noop`.
fn noop(config: &Map<String, Value>) -> Value {
    let result = config.get("result").filter(|result| !result.is_null()).cloned();
    result.unwrap_or_else(
        || json!({ "status": "ok", "message": config.get("message").cloned().unwrap_or_default() }),
    )
}

/// Runs the script of a step of kind `rhai`.
fn rhai_step(settings: &RenderedSettings, now: Timestamp) -> Result<CallEnd, CallProblem> {
    let Some(code) = settings.config.get("code").and_then(Value::as_str) else {
        let error = ToolError::new(ErrorKind::Config, "rhai needs `code`");
        return Ok(CallEnd::failed(error));
    };
    let all = Value::Object(settings.input.clone());
    let bound = settings.variables.iter().map(|(name, value)| (name.clone(), (**value).clone()));
    let named = [("input", all.clone()), ("args", all)];
    let arguments = settings.input.iter().map(|(name, value)| (name.clone(), value.clone()));
    let variables = bound.chain(named.map(|(name, value)| (name.to_owned(), value)));
    match run_script(code, variables.chain(arguments).collect(), now) {
        Ok(output) => Ok(CallEnd::completed(output)),
        Err(ScriptEnd::Thrown(value)) => {
            let message = match value {
                Value::String(text) => format!("Runtime error: {text}"),
                other => format!("Runtime error: {other}"),
            };
            Ok(CallEnd::failed(ToolError::new(ErrorKind::Exception, message)))
        }
        Err(ScriptEnd::NeedsMock { function }) => Err(CallProblem::ScriptNeedsMock { function }),
        Err(ScriptEnd::Wrong(error)) => Ok(CallEnd::failed(error)),
    }
}
