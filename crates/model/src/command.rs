//! Commands as workers see them, their outcomes and reports, and the messages of the outbox.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{
    Attempt, Bindings, CatalogId, CommandId, EventId, ExecutionId, ExecutionStatus,
    LimitDefinition, LimitName, NoticeReason, NoticeTarget, OnConflict, OpenedSecrets, Payload,
    Pool, Priority, Seq, SignalKey, SignalName, StepName, Timestamp, ToolError, ToolKind, WorkerId,
};

/// The largest size of each output stream that is kept; the middle is cut out.
pub const LOG_BYTES_MAX: usize = 64 * 1024;

/// The output streams of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logs {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

impl Logs {
    pub fn is_empty(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }

    /// Cuts each stream to [`LOG_BYTES_MAX`], keeping its beginning and its end.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self { stdout: head_and_tail(self.stdout), stderr: head_and_tail(self.stderr) }
    }
}

fn head_and_tail(text: String) -> String {
    if text.len() <= LOG_BYTES_MAX {
        return text;
    }
    let half = LOG_BYTES_MAX / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..])
}

/// The executions whose commands a worker asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseScope {
    #[default]
    All,
    /// Executions of which no worker holds a command. A worker keeps one slot for these, so that
    /// small executions do not wait while a large one fills all other slots.
    Idle,
}

/// A command leased to a worker: the tool to run, its values, and the end of the lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub attempt: Attempt,
    pub lease_until: Timestamp,
    pub step: StepName,
    /// The task's name in its pipeline; the step's name for a single tool.
    pub label: String,
    pub tool: ToolKind,
    /// The tool's configuration as written in the playbook, with templates not yet rendered.
    pub config: Value,
    /// The values that the templates of `config` refer to.
    pub bindings: Bindings,
    /// True if a template of `config` that reads a missing value is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_strict: bool,
    /// The time limit of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// A key shared by all attempts and retries of one run of a task, so that the called service
    /// can detect repetitions.
    pub idempotency_key: String,
    /// The number of this attempt among all attempts and retries with the same key, from 1.
    #[serde(default = "first_attempt")]
    pub key_attempt: u32,
    /// The index of the loop item that the command works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// The W3C trace context that the execution was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<Value>>,
    /// The opened values of the sealed ones in `bindings`. Never stored.
    #[serde(default, skip_serializing_if = "OpenedSecrets::is_empty")]
    pub secrets: OpenedSecrets,
    /// The proof that the worker holds the command. Never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<LeaseSecret>,
}

/// The secret by which a worker proves that it holds a command. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseSecret(String);

impl LeaseSecret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LeaseSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseSecret(..)")
    }
}

fn first_attempt() -> u32 {
    1
}

/// Returns the `traceparent` of a W3C trace context.
pub fn traceparent(trace: Option<&Value>) -> Option<&str> {
    trace?.get("traceparent")?.as_str()
}

/// The result of a command. The output is shared with the log, not copied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", try_from = "OutcomeFields")]
pub enum Outcome {
    Completed {
        output: Arc<Value>,
    },
    Failed {
        error: ToolError,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Arc<Value>>,
    },
}

/// The fields of an outcome. A tagged enum is read into a copy of everything first, so an outcome,
/// which can be large, is read as a struct.
#[derive(Deserialize)]
struct OutcomeFields {
    status: OutcomeStatus,
    #[serde(default, deserialize_with = "present")]
    output: Option<Arc<Value>>,
    #[serde(default)]
    error: Option<ToolError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeStatus {
    Completed,
    Failed,
}

/// Reads a field that is there; null is a value.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<Value>>, D::Error> {
    Arc::deserialize(deserializer).map(Some)
}

impl TryFrom<OutcomeFields> for Outcome {
    type Error = &'static str;

    fn try_from(fields: OutcomeFields) -> Result<Self, Self::Error> {
        let OutcomeFields { status, output, error } = fields;
        match status {
            OutcomeStatus::Completed => {
                Ok(Self::Completed { output: output.ok_or("missing field `output`")? })
            }
            OutcomeStatus::Failed => {
                let error = error.ok_or("missing field `error`")?;
                Ok(Self::Failed { error, output: output.filter(|output| !output.is_null()) })
            }
        }
    }
}

impl Outcome {
    pub fn completed(output: Value) -> Self {
        Self::Completed { output: Arc::new(output) }
    }

    /// Returns a failure without output.
    pub fn failed(error: ToolError) -> Self {
        Self::Failed { error, output: None }
    }
}

/// The name of a command in the public worker protocol: `<execution>:<step>:<event>`, followed by
/// `:i<index>` for an item of a loop. `<event>` is the event that issued the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandName {
    pub execution: ExecutionId,
    pub step: StepName,
    pub event_id: EventId,
    pub item: Option<u64>,
}

impl fmt::Display for CommandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { execution, step, event_id, item } = self;
        write!(f, "{execution}:{step}:{event_id}")?;
        match item {
            Some(index) => write!(f, ":i{index}"),
            None => Ok(()),
        }
    }
}

/// A worker's report that a command has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub attempt: Attempt,
    pub worker: WorkerId,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Logs::is_empty")]
    pub logs: Logs,
    /// The pool from which the worker can take a following command of the same execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Pool>,
}

/// A command that a worker holds, by its ids and attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Held {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub attempt: Attempt,
}

impl From<&Lease> for Held {
    fn from(lease: &Lease) -> Self {
        Self { execution: lease.execution, command: lease.command, attempt: lease.attempt }
    }
}

impl From<&Report> for Held {
    fn from(report: &Report) -> Self {
        Self { execution: report.execution, command: report.command, attempt: report.attempt }
    }
}

/// The answer to a heartbeat for one command: the lease is extended, or lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeartbeatAnswer {
    Extended { until: Timestamp },
    Lost(LostReason),
}

/// The reason why a worker has lost a command; its report would have no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostReason {
    /// A later attempt of the command runs elsewhere.
    Superseded,
    Cancelled,
    /// The command or its execution has ended.
    Finished,
}

/// The answer to a report. Every answer is final: the report must not be sent again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportAnswer {
    /// The report was recorded, now or by an earlier delivery.
    Accepted,
    /// The report was recorded, and the worker leases the next command, because it had a free slot.
    Continued(Box<Lease>),
    /// The attempt is not the latest one, or the command was cancelled; nothing changed.
    Superseded,
    /// No such command exists.
    Unknown,
    /// The report is invalid, such as an output above the size limit.
    Refused { reason: String },
}

/// A pending message, written to the outbox in the transaction of the event that causes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// A command is ready in a pool.
    CommandReady {
        pool: Pool,
        command: CommandId,
        event_id: EventId,
        step: StepName,
        /// The index of the loop item that the command belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<u64>,
        /// The W3C trace context that the execution was started with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<Arc<Value>>,
    },
    /// A command that was parked is ready in a pool.
    CommandUnparked { command: CommandId, pool: Pool },
    /// A command was cancelled; the worker that runs it should stop.
    CommandCancelled { command: CommandId },
    /// A child execution has ended; its parent waits for the result.
    ChildEnded {
        parent: ExecutionId,
        command: CommandId,
        status: ExecutionStatus,
        /// The child's output; a child that failed has an `error` instead.
        output: Payload,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ToolError>,
    },
    /// The parent of `child` was cancelled, and `child` has to be cancelled too.
    CancelChild { child: ExecutionId, reason: String },
    /// The sender was cancelled, and executions linked below it have to be cancelled too.
    CancelLinked { reason: String },
    /// A wait with a correlation key has opened: signals that were sent to the key are due.
    SignalAwaited { name: SignalName, key: SignalKey },
    /// The parent of `child` was paused.
    PauseChild {
        child: ExecutionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The parent of `child` was resumed.
    ResumeChild {
        child: ExecutionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A command of the sender, or the sender itself, asks for a slot of a limit.
    RequestSlot {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<CommandId>,
        limit: LimitDefinition,
        #[serde(default, skip_serializing_if = "OnConflict::is_default")]
        on_conflict: OnConflict,
        priority: Priority,
        /// The playbook version that defines the limit.
        defined_by: CatalogId,
        at: Timestamp,
    },
    /// A command of the sender, or the sender itself, needs its slot no more.
    ReleaseSlot {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<CommandId>,
        limit: LimitName,
    },
    /// A notification about the sender, for people or programs outside.
    Notification {
        /// The event that requested the notification.
        event: Seq,
        reason: NoticeReason,
        /// The path of the document that asks for the notification; `None` if the playbook does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document: Option<String>,
        /// The number of notifications in the chain of executions, from 1.
        depth: u32,
        target: NoticeTarget,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn an_outcome_survives_its_json_and_a_part_that_is_missing_is_an_error() {
        let error = ToolError::new(ErrorKind::Timeout, "late");
        for outcome in [
            Outcome::completed(json!({ "a": [1, null] })),
            Outcome::completed(Value::Null),
            Outcome::failed(error.clone()),
            Outcome::Failed { error, output: Some(Arc::new(json!(1))) },
        ] {
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome, "{text}");
        }
        for text in [r#"{"status":"completed"}"#, r#"{"status":"failed"}"#, r#"{"output":1}"#] {
            assert!(serde_json::from_str::<Outcome>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_command_is_named_by_execution_step_and_event_and_in_a_loop_by_its_item() {
        let mut name = CommandName {
            execution: ExecutionId(7),
            step: StepName::new("fetch"),
            event_id: EventId(9),
            item: None,
        };
        assert_eq!(name.to_string(), "7:fetch:9");
        name.item = Some(0);
        assert_eq!(name.to_string(), "7:fetch:9:i0");
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let logs =
            Logs { stdout: format!("begin{}end", "é".repeat(LOG_BYTES_MAX)), stderr: "x".into() };
        let bounded = logs.bounded();
        assert!(bounded.stdout.len() < LOG_BYTES_MAX + 64);
        assert!(bounded.stdout.starts_with("begin") && bounded.stdout.ends_with("end"));
        assert!(bounded.stdout.contains("bytes left out"));
        assert_eq!(bounded.stderr, "x");
    }
}
