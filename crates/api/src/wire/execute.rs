//! Bodies of the routes that start executions.

use std::sync::Arc;

use noetl_model::{ErrorMode, Labels, Priority};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::AnyId;

/// A request to start an execution.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct ExecuteRequest {
    #[serde(default)]
    pub path: Option<String>,
    /// Takes precedence over `path`.
    #[serde(default)]
    pub catalog_id: Option<AnyId>,
    /// A number, or `latest`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub version: Option<Value>,
    /// Merged into the playbook's workload.
    #[serde(default, alias = "workload")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Map<String, Value>>,
    /// The effect of a failed step: `strict` fails the execution, `lenient` continues it. Defaults
    /// to the playbook's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub error_mode: Option<ErrorMode>,
    /// 0 to 9: commands of executions with a higher priority are leased first. Defaults to the
    /// playbook's, else to 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u8>)]
    pub priority: Option<Priority>,
    /// Pool for the execution's commands.
    #[serde(default)]
    pub execution_pool: Option<String>,
    /// The W3C trace context.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub trace: Option<Value>,
    /// The parent in lists and trees, without a command there that waits for this execution; also
    /// the scope of `dedup`. The id of a subscription is allowed too.
    #[serde(default)]
    pub parent_execution_id: Option<AnyId>,
    /// Labels to find the execution by; they replace those of the playbook with the same keys.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = Option<Object>)]
    pub labels: Labels,
    /// Starts nothing if the same key was used recently.
    #[serde(default)]
    pub dedup: Option<Dedup>,
}

/// A start key: at most one execution is started under it within a time window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Dedup {
    pub key: String,
    /// Length of the window after the first request, in seconds.
    #[serde(default = "five_minutes")]
    pub window_secs: u64,
}

impl Dedup {
    /// Returns a key that no other request has.
    pub fn unique() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system provides random numbers");
        Self { key: u128::from_be_bytes(bytes).to_string(), window_secs: five_minutes() }
    }
}

fn five_minutes() -> u64 {
    300
}

/// The answer to a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartStatus {
    Started,
    /// An earlier request started the execution under the same key.
    Duplicate,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ExecuteAnswer {
    pub execution_id: String,
    pub status: StartStatus,
    pub commands_generated: usize,
    /// The path of the execution on this server, if the answer is 202: it did not end in the time that
    /// the request waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The answer to a start, which may have waited for the end of its execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum StartAnswer {
    Started(ExecuteAnswer),
    Ended(EndedAnswer),
}

/// The answer to a start that waited for the end of its execution (`Prefer: wait=30`).
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct EndedAnswer {
    pub execution_id: String,
    /// COMPLETED, FAILED or CANCELLED.
    pub status: String,
    pub commands_generated: usize,
    /// The output of a completed execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub output: Option<Arc<Value>>,
    /// The error of a failed execution: `kind`, `message`, `retryable` and details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    /// The reason of a cancellation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
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
    /// Results, one per request, in order.
    pub results: Vec<ExecuteBatchItem>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ExecuteBatchItem {
    Started { index: usize, execution_id: String, commands_generated: usize },
    Duplicate { index: usize, execution_id: String, commands_generated: usize },
    Error { index: usize, commands_generated: usize, error: String, code: String },
}
