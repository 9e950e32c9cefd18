//! Bodies of the route that forks executions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::AnyId;

/// A request to fork an execution.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct ForkBody {
    /// The last shared event; if left out, the failed part of the execution is run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_event: Option<u64>,
    /// Merged into the workload.
    #[serde(default, alias = "payload", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub workload: Option<Map<String, Value>>,
    /// Written to `ctx`.
    #[serde(default, alias = "ctx", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub context: Option<Map<String, Value>>,
    /// Another version of the playbook: a number, or `latest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub version: Option<Value>,
    /// Another playbook; takes precedence over `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog_id: Option<AnyId>,
    /// The text of a playbook to continue with, registered if the fork is possible; takes
    /// precedence over `catalog_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ForkAnswer {
    pub execution_id: AnyId,
    pub status: String,
    pub forked_from: AnyId,
    /// The last shared event.
    pub forked_at: u64,
}
