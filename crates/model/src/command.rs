//! Commands as workers see them, and what they say about them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Attempt, Bindings, CommandId, EventId, ExecutionId, ExecutionStatus, Payload, Pool, StepName,
    Timestamp, ToolError, ToolKind, WorkerId,
};

/// What is kept of each of a command's output streams; the middle is left out.
pub const LOG_BYTES_MAX: usize = 64 * 1024;

/// What a tool printed.
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

/// A command in a worker's hands: what to run, with which values, until when.
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
    /// The tool's configuration as written, templates and all.
    pub config: Value,
    /// The values its templates mention.
    pub bindings: Bindings,
    /// How long the tool may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The same for every attempt and every retry of one run of a task, so that what the tool calls
    /// can recognise a repetition.
    pub idempotency_key: String,
    /// The number of this attempt among all attempts and retries with the same key, from 1.
    #[serde(default = "first_attempt")]
    pub key_attempt: u32,
    /// The W3C trace context the execution came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<Value>>,
}

fn first_attempt() -> u32 {
    1
}

/// The `traceparent` of a W3C trace context, if it has one.
pub fn traceparent(trace: Option<&Value>) -> Option<&str> {
    trace?.get("traceparent")?.as_str()
}

/// How a command ended. Its output is shared, not copied, on the way to the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
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

impl Outcome {
    pub fn completed(output: Value) -> Self {
        Self::Completed { output: Arc::new(output) }
    }

    /// A failure that left nothing to look at.
    pub fn failed(error: ToolError) -> Self {
        Self::Failed { error, output: None }
    }
}

/// A command as workers of the public protocol name it: `<execution>:<step>:<event>`, and for an item
/// of a loop `:i<index>` after it. The event is the one that issued it.
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

/// What a worker says when it is done with a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub attempt: Attempt,
    pub worker: WorkerId,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Logs::is_empty")]
    pub logs: Logs,
    /// The pool of which the worker has room for a command that follows in the same execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Pool>,
}

/// What an event owes to others. Written to the outbox in the event's own transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// A command waits in a pool.
    CommandReady {
        pool: Pool,
        command: CommandId,
        event_id: EventId,
        step: StepName,
        /// Which item of the step's loop it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<u64>,
        /// The W3C trace context the execution came with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<Arc<Value>>,
    },
    /// A command was cancelled; whoever runs it should stop.
    CommandCancelled { command: CommandId },
    /// A child execution has ended; its parent waits for it.
    ChildEnded {
        parent: ExecutionId,
        command: CommandId,
        status: ExecutionStatus,
        /// Its output, or, if it failed, why.
        output: Payload,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ToolError>,
    },
    /// A parent was cancelled; this child of it should be too.
    CancelChild { child: ExecutionId, reason: String },
    /// The sender was cancelled; what requests have started below it should be too.
    CancelLinked { reason: String },
}

#[cfg(test)]
mod tests {
    use super::*;

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
