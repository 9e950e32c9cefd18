//! Bodies of the routes for runtimes that fetch messages, and for inspecting dead messages.

use noetl_model::{Arrival, ExecutionId, MessageOutcome, WorkerId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A runtime's request for its assignment at a path.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AttendCall {
    #[schema(value_type = String)]
    pub runtime: WorkerId,
    pub path: String,
}

/// Messages that a runtime hands in.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MessagesCall {
    #[schema(value_type = String)]
    pub runtime: WorkerId,
    #[schema(value_type = String)]
    pub subscription: ExecutionId,
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Arrival>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MessagesReply {
    /// Verdicts, one per message, in order.
    #[schema(value_type = Vec<Object>)]
    pub verdicts: Vec<MessageOutcome>,
}

/// The end of a runtime's assignment.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LeaveCall {
    #[schema(value_type = String)]
    pub runtime: WorkerId,
    #[schema(value_type = String)]
    pub subscription: ExecutionId,
}

/// A message that could not be processed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailedMessageView {
    /// Name for retrying or dropping the message.
    pub name: String,
    /// The message's id at its source.
    pub message_id: String,
    /// `WAITING` or `DEAD`.
    pub status: String,
    pub failures: u32,
    pub reason: String,
    pub first_at: String,
    pub last_at: String,
    /// Time of the next try, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
    /// The message itself.
    #[schema(value_type = Object)]
    pub message: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailedMessagesView {
    pub messages: Vec<FailedMessageView>,
    /// Pass as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
}

/// Selects dead messages.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct DeadChoice {
    /// Names of dead messages; all dead messages if empty.
    #[serde(default)]
    pub names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeadRetried {
    pub started: u64,
    pub duplicates: u64,
    /// Messages that failed again, with the reason.
    pub failed: Vec<DeadFailure>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeadFailure {
    pub name: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeadDropped {
    pub dropped: u64,
}
