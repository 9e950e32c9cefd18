//! Pauses, and limits with their holders and queues.

use noetl_model::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::AnyId;

/// The caller of a pause or a resumption, and its reason.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct PauseBody {
    /// The name of the caller, for clients that cannot send the header `X-Noetl-Actor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The playbook that is paused or resumed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct PausePlaybookBody {
    pub path: String,
    /// The name of the caller, for clients that cannot send the header `X-Noetl-Actor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PauseAnswer {
    /// `paused` or `resumed`; `running` if there was nothing to resume.
    pub status: String,
    pub message: String,
}

/// A paused playbook or pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PauseView {
    /// `playbook` or `pool`.
    pub kind: String,
    /// The path of the playbook or the name of the pool.
    pub name: String,
    /// The name of the caller that paused it.
    pub actor: Option<String>,
    pub reason: Option<String>,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub since: Timestamp,
    /// True if the pause has ended and its executions are being resumed.
    pub is_ending: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PauseList {
    pub pauses: Vec<PauseView>,
}

/// A limit with its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitView {
    pub name: String,
    /// The amount in words, such as `3 at a time`.
    pub allows: String,
    /// The number of slots; `None` for a rate.
    pub max: Option<u32>,
    /// The number of grants in `per_ms` milliseconds; `None` for slots.
    pub rate: Option<u32>,
    pub per_ms: Option<u64>,
    pub burst: Option<u32>,
    /// The number of slots that are held; zero for a rate, whose grants nobody holds.
    pub holders: u64,
    /// The number of requests that wait.
    pub queued: u64,
    /// For how long the oldest request has waited, in seconds.
    pub oldest_wait_seconds: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitList {
    pub limits: Vec<LimitView>,
    /// The name after which the next page begins; `None` if there are no more limits.
    pub next_after: Option<String>,
}

/// A limit with its first holders and the head of its queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitDetail {
    #[serde(flatten)]
    pub limit: LimitView,
    /// The holders, longest held first.
    pub slots: Vec<SlotView>,
    /// The requests in the order they are granted.
    pub queue: Vec<SlotView>,
}

/// A slot that is held, or a request that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SlotView {
    pub execution_id: AnyId,
    /// The command; `None` if the execution itself holds the slot.
    pub command: Option<u64>,
    pub priority: u8,
    /// The time of the grant or, while it waits, of the request.
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub since: Timestamp,
    pub seconds: f64,
}
