//! Bodies of the routes through which existing workers claim commands and report.

use noetl_api::AnyId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ClaimRequest {
    pub worker_id: String,
}

/// A command in the form that existing workers read.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ClaimedCommand {
    pub status: &'static str,
    pub event_id: i64,
    pub execution_id: i64,
    pub node_id: String,
    pub node_name: String,
    /// The kind of the tool.
    pub action: String,
    /// An object with `tool_config`, `args` and `render_context`.
    #[schema(value_type = Object)]
    pub context: Value,
    #[schema(value_type = Object)]
    pub meta: Value,
}

/// An event that another program posts.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct PostedEvent {
    pub execution_id: AnyId,
    #[serde(flatten)]
    pub item: PostedItem,
}

/// An event without its execution.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct PostedItem {
    #[serde(default)]
    pub step: Option<String>,
    #[serde(alias = "name")]
    pub event_type: String,
    #[serde(default, alias = "payload")]
    #[schema(value_type = Option<Object>)]
    pub context: Value,
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub meta: Option<Map<String, Value>>,
    #[serde(default)]
    pub worker_id: Option<String>,
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub event_id: Option<AnyId>,
    #[serde(default)]
    pub created_at: Option<String>,
    /// `{status, context, reference}`, for a result that is stored elsewhere.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub result: Option<Map<String, Value>>,
    /// `stage`, `frame` or `business_object`, if the event is about one.
    #[serde(default)]
    pub aggregate_type: Option<String>,
    #[serde(default)]
    pub aggregate_id: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EventAccepted {
    pub status: &'static str,
    pub event_id: i64,
    pub commands_generated: usize,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct EventBatch {
    pub execution_id: AnyId,
    #[serde(default)]
    pub worker_id: Option<String>,
    pub events: Vec<PostedItem>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EventBatchAccepted {
    pub status: &'static str,
    pub event_ids: Vec<i64>,
    pub commands_generated: usize,
}
