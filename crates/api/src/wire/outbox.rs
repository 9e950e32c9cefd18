//! Bodies of the routes through which other programs send outbox messages, and operators handle
//! those that cannot be sent.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::AnyId;

/// Default number of messages to claim.
const CLAIM_LIMIT: i64 = 100;
/// Default maximum delay after a failure, in seconds.
const DELAY_SECONDS_MAX: i64 = 300;

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct OutboxClaim {
    /// Number of messages to claim, clamped to 1 to 1000.
    #[serde(default = "claim_limit")]
    pub limit: i64,
    /// Encoding of the payloads in the answer.
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

/// Encoding of a message's payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadCodec {
    /// A JSON value.
    #[default]
    Json,
    /// The bytes to publish on the bus, in base64.
    JsonBase64,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OutboxClaimed {
    pub rows: Vec<ClaimedMessage>,
    pub claimed: usize,
}

/// A message to publish on its subject.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ClaimedMessage {
    pub outbox_id: i64,
    pub event_id: i64,
    pub execution_id: i64,
    pub subject: String,
    /// Id by which a broker detects a repeated message.
    pub message_id: String,
    #[schema(value_type = Object)]
    pub payload: Value,
    pub payload_codec: PayloadCodec,
    /// Number of claims, including this one.
    pub attempts: u32,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct MarkPublished {
    pub outbox_ids: Vec<AnyId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MarkedPublished {
    /// Number of messages that are sent, now or by an earlier request.
    pub marked: u64,
    /// Number of them that were pending until this request.
    pub newly: u64,
    /// Ids that no message ever had.
    pub unknown: Vec<i64>,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct MarkFailed {
    pub outbox_id: AnyId,
    pub error: String,
    /// Number of tries, at least 0; the message's own count if left out.
    #[serde(default)]
    pub attempts: Option<i64>,
    #[serde(default = "delay_seconds_max")]
    pub max_delay_seconds: i64,
}

fn delay_seconds_max() -> i64 {
    DELAY_SECONDS_MAX
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MarkedFailed {
    /// True if the message was still pending.
    pub marked: bool,
    /// Seconds until the next try; absent if there is none.
    pub available_at_in: Option<u64>,
    /// `FAILED`, `DEAD`, `PUBLISHED` for a message that was sent already, or `UNKNOWN` if there
    /// never was one.
    pub status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OutboxPending {
    pub pending: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OutboxPage {
    pub messages: Vec<OutboxMessage>,
    /// Pass as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<i64>,
}

/// An outbox message as shown to operators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OutboxMessage {
    pub outbox_id: i64,
    pub execution_id: String,
    /// Kind of the message: `command_ready`, `child_ended`, ….
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
    /// Number of messages that were changed.
    pub changed: u64,
}
