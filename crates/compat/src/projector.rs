//! Bodies of the routes through which other programs store and project their events, and purge old
//! data.

use noetl_api::AnyId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Events of other programs.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ProjectCall {
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ProjectReply {
    pub projected: u64,
    /// Number of events that were stored before.
    pub duplicates: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MaterializeReply {
    pub materialized: u64,
    /// Number of events that were stored before.
    pub duplicates: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ProjectedEvents {
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Value>,
    /// Pass as `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_after: Option<i64>,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct AdvanceCall {
    pub execution_ids: Vec<AnyId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct AdvanceReply {
    pub advanced: Vec<AdvancedExecution>,
    pub failed: Vec<UnadvancedExecution>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct AdvancedExecution {
    pub execution_id: i64,
    /// The id of the last event.
    pub version: i64,
    pub events: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct UnadvancedExecution {
    pub execution_id: i64,
    pub error: String,
}

/// Retention per kind of data; zero or less keeps everything of that kind.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(default)]
pub struct PurgeCall {
    pub command_retention_days: i64,
    pub runtime_stale_minutes: i64,
    pub event_retention_days: i64,
}

impl Default for PurgeCall {
    fn default() -> Self {
        Self { command_retention_days: 7, runtime_stale_minutes: 60, event_retention_days: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PurgeReply {
    /// Always 0: the record of a command is deleted when the command ends.
    pub commands_purged: u64,
    pub runtime_purged: u64,
    /// Number of deleted events of other programs.
    pub events_purged: u64,
    /// Dropped monthly partitions of the event log, such as `2026_01`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_partitions_dropped: Option<Vec<String>>,
}
