//! The interface of a tool: the call it receives and the outcome it returns.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{
    Attempt, CommandId, ErrorKind, ExecutionId, Held, Logs, Outcome, StepName, ToolError,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::protect::credentials::UsedCredentials;
use crate::protect::files::FileAccess;
use crate::protect::redactor::Redactor;
use crate::run::live::LiveLog;
use crate::run::memory::CallMemory;

/// A kind of work that a worker can do.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Runs until done or until `call.cancel` is cancelled. On cancellation the tool stops
    /// everything it started and returns soon with the logs so far; the caller knows why it
    /// cancelled and sets the outcome.
    async fn run(&self, call: &Call) -> ToolResult;
}

/// A command ready to run, with all templates rendered.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool's configuration.
    pub config: Map<String, Value>,
    /// The arguments: `input` and `args`.
    pub input: Map<String, Value>,
    /// All values that came with the command, by name.
    pub variables: BTreeMap<String, Arc<Value>>,
    pub execution: ExecutionId,
    pub command: CommandId,
    pub step: StepName,
    /// The task's name in its pipeline; the step's name for a single tool.
    pub label: String,
    pub attempt: Attempt,
    /// A key that is the same for every attempt and retry of one run of a task.
    pub idempotency_key: String,
    /// The number of this attempt among all attempts with the same key, from 1.
    pub key_attempt: u32,
    pub timeout: Duration,
    pub cancel: CancellationToken,
    /// The credentials that the tool has received so far.
    pub used: UsedCredentials,
    /// The memory account of the call.
    pub memory: CallMemory,
    /// The files that a tool of the worker's process may open.
    pub files: FileAccess,
    /// The receiver of the output while the tool runs.
    pub live: LiveLog,
}

impl Call {
    /// Returns the command that the worker holds.
    pub fn held(&self) -> Held {
        Held { execution: self.execution, command: self.command, attempt: self.attempt }
    }

    /// Returns the environment variables set for a process of this call, in addition to the
    /// inherited ones.
    pub(crate) fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("NOETL_EXECUTION_ID", self.execution.to_string()),
            ("NOETL_STEP", self.step.to_string()),
            ("NOETL_IDEMPOTENCY_KEY", self.idempotency_key.clone()),
            ("NOETL_ATTEMPT", self.key_attempt.to_string()),
        ]
    }
}

/// The outcome and the logs of a tool run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    pub outcome: Outcome,
    pub logs: Logs,
}

impl ToolResult {
    pub fn completed(output: Value) -> Self {
        Self::completed_shared(Arc::new(output))
    }

    /// Returns a success with a shared output.
    pub fn completed_shared(output: Arc<Value>) -> Self {
        Self { outcome: Outcome::Completed { output }, logs: Logs::default() }
    }

    pub fn failed(error: ToolError) -> Self {
        Self { outcome: Outcome::failed(error), logs: Logs::default() }
    }

    /// Returns a failure with an output, such as the body of a 404 response.
    pub fn failed_with(error: ToolError, output: Value) -> Self {
        let output = Some(Arc::new(output));
        Self { outcome: Outcome::Failed { error, output }, logs: Logs::default() }
    }

    /// Returns the result of a tool that was cancelled.
    pub fn stopped(logs: Logs) -> Self {
        Self::failed(ToolError::new(ErrorKind::Unknown, "stopped before it was done"))
            .with_logs(logs)
    }

    #[must_use]
    pub fn with_logs(mut self, logs: Logs) -> Self {
        self.logs = logs;
        self
    }

    /// Removes all secrets from the output, the error and the logs, then truncates the logs. In
    /// this order, because truncating first could leave part of a secret.
    #[must_use]
    pub(crate) fn redacted(mut self, redactor: &Redactor) -> Self {
        if !redactor.is_idle() {
            match &mut self.outcome {
                Outcome::Completed { output } => redactor.json(Arc::make_mut(output)),
                Outcome::Failed { error, output } => {
                    redact_error(redactor, error);
                    output.iter_mut().for_each(|output| redactor.json(Arc::make_mut(output)));
                }
            }
            for stream in [&mut self.logs.stdout, &mut self.logs.stderr] {
                if let Cow::Owned(redacted) = redactor.text(stream) {
                    *stream = redacted;
                }
            }
        }
        self.logs = self.logs.bounded();
        self
    }
}

fn redact_error(redactor: &Redactor, error: &mut ToolError) {
    for text in [Some(&mut error.message), error.code.as_mut()].into_iter().flatten() {
        if let Cow::Owned(redacted) = redactor.text(text) {
            *text = redacted;
        }
    }
    if let Some(details) = &mut error.details {
        redactor.json(details);
    }
}

impl From<Result<ToolResult, ToolError>> for ToolResult {
    fn from(result: Result<ToolResult, ToolError>) -> Self {
        result.unwrap_or_else(ToolResult::failed)
    }
}
