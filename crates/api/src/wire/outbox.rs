//! Bodies of the routes through which other programs send what is owed, and people look after what
//! cannot be sent.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::AnyId;

/// How many messages are claimed unless the request says otherwise.
const CLAIM_LIMIT: i64 = 100;
/// The longest wait after a failure unless the request says otherwise, in seconds.
const DELAY_SECONDS_MAX: i64 = 300;

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct OutboxClaim {
    /// Taken as 1 or 1000 if it is below or above.
    #[serde(default = "claim_limit")]
    pub limit: i64,
    /// How the payload is written in the answer.
    #[serde(default)]
    pub payload_codec: PayloadCodec,
}

fn claim_limit() -> i64 {
    CLAIM_LIMIT
}

impl Default for OutboxClaim {
    fn default() -> Self {
        Self { limit: CLAIM_LIMIT, payload_codec: PayloadCodec::default() }
    }
}

/// How the payload of a message is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadCodec {
    /// As JSON among JSON.
    #[default]
    Json,
    /// As the bytes that go onto the bus, in base64.
    JsonBase64,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OutboxClaimed {
    pub rows: Vec<ClaimedMessage>,
    pub claimed: usize,
}

/// A message to be sent: its payload goes to its subject.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ClaimedMessage {
    pub outbox_id: i64,
    pub event_id: i64,
    pub execution_id: i64,
    pub subject: String,
    /// Under which a broker knows a repetition.
    pub message_id: String,
    #[schema(value_type = Object)]
    pub payload: Value,
    pub payload_codec: PayloadCodec,
    /// How often it has been claimed, this time included.
    pub attempts: u32,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct MarkPublished {
    pub outbox_ids: Vec<AnyId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MarkedPublished {
    /// How many messages were owed until now.
    pub marked: u64,
    /// The ids that no message ever had.
    pub unknown: Vec<i64>,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct MarkFailed {
    pub outbox_id: AnyId,
    pub error: String,
    /// How often it has been tried; the message's own count if left out.
    #[serde(default)]
    pub attempts: Option<u32>,
    #[serde(default = "delay_seconds_max")]
    pub max_delay_seconds: i64,
}

fn delay_seconds_max() -> i64 {
    DELAY_SECONDS_MAX
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MarkedFailed {
    /// Whether the message was still owed.
    pub marked: bool,
    /// In how many seconds it is tried again; nothing if it is not.
    pub available_at_in: Option<u64>,
    /// `FAILED`, `DEAD`, or `PUBLISHED` for one that is over.
    pub status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OutboxPending {
    pub pending: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OutboxPage {
    pub messages: Vec<OutboxMessage>,
    /// What to ask for next; nothing at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<i64>,
}

/// A message as people look at it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OutboxMessage {
    pub outbox_id: i64,
    pub execution_id: String,
    /// What it says: `command_ready`, `child_ended`, ….
    pub kind: String,
    /// `PENDING`, `IN_FLIGHT`, `FAILED` or `DEAD`.
    pub status: String,
    pub attempts: u32,
    pub last_error: Option<String>,
    pub available_at: Option<String>,
    pub created_at: String,
    #[schema(value_type = Object)]
    pub message: Value,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct OutboxIds {
    pub outbox_ids: Vec<AnyId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OutboxChanged {
    /// How many of the messages were changed.
    pub changed: u64,
}
