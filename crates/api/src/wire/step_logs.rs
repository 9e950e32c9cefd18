//! Bodies about the output of tools.

use noetl_model::{LogStream, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A piece of the output of a step. A text that does not end with a line break is continued by the
/// next entry of the same command, attempt and stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogEntry {
    /// The position after this entry, to go on from with `after`.
    pub position: String,
    #[schema(value_type = String)]
    pub at: Timestamp,
    pub step: String,
    /// The task of the step, if it has a name of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The index of the loop item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// The number of the attempt among all attempts of the task, from 1.
    pub attempt: u32,
    pub command: u64,
    #[schema(value_type = String)]
    pub stream: LogStream,
    pub text: String,
    /// The number of lines that were dropped before this entry.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_lines: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_bytes: u64,
    /// True if the command had ended or was leased again when the output arrived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_late: bool,
    /// True if the output is that of the command's report, which keeps the beginning and the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_report: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The query of a client that streams the output of an execution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StepLogQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<LogStream>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    pub follow: bool,
    pub format: &'static str,
}

/// A page of the output of an execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LogPage {
    pub execution_id: String,
    pub entries: Vec<LogEntry>,
    /// The position after the last entry, to go on from with `after`.
    pub next_after: String,
    /// True if the execution has ended and there is no further output.
    pub is_complete: bool,
}
