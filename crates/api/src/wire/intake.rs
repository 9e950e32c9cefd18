//! Bodies of the routes for runtimes that fetch messages, and for those who look at the dead.

use noetl_model::{Arrival, ExecutionId, Verdict, WorkerId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A runtime asks what to fetch for a path.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AttendCall {
    #[schema(value_type = String)]
    pub runtime: WorkerId,
    pub path: String,
}

/// A runtime hands messages in.
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
    /// One for each, in order.
    #[schema(value_type = Vec<Object>)]
    pub verdicts: Vec<Verdict>,
}

/// A runtime ends.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LeaveCall {
    #[schema(value_type = String)]
    pub runtime: WorkerId,
    #[schema(value_type = String)]
    pub subscription: ExecutionId,
}

/// A message that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailedMessageView {
    /// What it is named by when it is tried again or dropped.
    pub name: String,
    /// How its source calls it.
    pub message_id: String,
    /// `WAITING` or `DEAD`.
    pub status: String,
    pub failures: u32,
    pub reason: String,
    pub first_at: String,
    pub last_at: String,
    /// When it is tried again, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
    /// The message itself.
    #[schema(value_type = Object)]
    pub message: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailedMessagesView {
    pub messages: Vec<FailedMessageView>,
    /// Ask for what comes after this, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
}

/// Which dead messages are meant.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct DeadChoice {
    /// By name; all that are dead if none is named.
    #[serde(default)]
    pub names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeadRetried {
    pub started: u64,
    pub duplicates: u64,
    /// Those that failed again, with the reason.
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
