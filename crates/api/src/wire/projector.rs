//! Bodies of the routes that other programs project events through, and clean up by.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::AnyId;

/// Events of others.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ProjectCall {
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ProjectReply {
    pub projected: u64,
    /// Those that were known.
    pub duplicates: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MaterializeReply {
    pub materialized: u64,
    /// Those that were known.
    pub duplicates: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ProjectedEvents {
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Value>,
    /// Ask for what comes after this, if there is more.
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

/// What is old enough to go; a number that is not above zero leaves its kind alone.
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
    /// None: a command that has ended is gone with its end.
    pub commands_purged: u64,
    pub runtime_purged: u64,
    /// Events of others.
    pub events_purged: u64,
    /// The months of our own that are gone, such as `2026_01`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_partitions_dropped: Option<Vec<String>>,
}
