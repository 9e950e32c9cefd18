//! Bodies of the routes that start executions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::AnyId;

/// A wish for an execution.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
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
    /// The execution to place this one below, in lists and trees, without a command there that waits
    /// for it; also the scope of `dedup`. A subscription may be named too.
    #[serde(default)]
    pub parent_execution_id: Option<AnyId>,
    /// Starts nothing if the same key was used not long ago.
    #[serde(default)]
    pub dedup: Option<Dedup>,
}

/// A name under which one execution is started within a window of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Dedup {
    pub key: String,
    /// For how long after the first request the others are its duplicates.
    #[serde(default = "five_minutes")]
    pub window_secs: u64,
}

fn five_minutes() -> u64 {
    300
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecuteAnswer {
    pub execution_id: String,
    /// `started`, or `duplicate` for the execution that was started under the same key before.
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
    Duplicate { index: usize, execution_id: String, commands_generated: usize },
    Error { index: usize, commands_generated: usize, error: String, code: String },
}
