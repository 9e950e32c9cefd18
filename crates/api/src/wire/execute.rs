//! Bodies of the routes that start executions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::AnyId;

/// A wish for an execution.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub struct ExecuteRequest {
    #[serde(default)]
    pub path: Option<String>,
    /// Wins over `path`.
    #[serde(default)]
    pub catalog_id: Option<AnyId>,
    /// A number, or `latest`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub version: Option<Value>,
    /// Merged over the playbook's workload.
    #[serde(default, alias = "workload")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Map<String, Value>>,
    /// Where its commands wait.
    #[serde(default)]
    pub execution_pool: Option<String>,
    /// The W3C trace context.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub trace: Option<Value>,
    /// Not served: a request that asks for it is refused rather than run twice.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub dedup: Option<Value>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecuteAnswer {
    pub execution_id: String,
    pub status: &'static str,
    pub commands_generated: usize,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ExecuteBatch {
    pub executions: Vec<ExecuteRequest>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecuteBatchAnswer {
    pub count: usize,
    pub started: usize,
    pub duplicates: usize,
    pub failed: usize,
    /// One for each request, in order.
    pub results: Vec<ExecuteBatchItem>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ExecuteBatchItem {
    Started { index: usize, execution_id: String, commands_generated: usize },
    Error { index: usize, commands_generated: usize, error: String, code: String },
}
