//! Bodies about bulk jobs: one action on many executions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::AnyId;

/// The conditions of the executions of a job; all of them hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct BulkFilterBody {
    /// `RUNNING`, `COMPLETED`, `FAILED` or `CANCELLED`, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The playbook's path; a trailing `*` matches any rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A part of the path, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_part: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog_id: Option<AnyId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_execution_id: Option<AnyId>,
    /// The earliest start, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_after: Option<String>,
    /// The latest start, exclusive, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_before: Option<String>,
    /// Labels that the execution has, all of them, such as `team:ops`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The person or program that requested the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Words that are in the path, a label's value, the error message or the reason of a cancellation,
    /// all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A request to act on many executions. Either `filter` or `execution_ids` is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkBody {
    /// `cancel` (running executions), `retry` (failed and cancelled ones, where they failed) or
    /// `rerun` (ended ones, from the start).
    pub action: String,
    /// `{}` selects all executions to which the action applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<BulkFilterBody>,
    /// At most 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_ids: Option<Vec<AnyId>>,
    /// The reason of cancellations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The number of executions that a request would act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkPreview {
    pub action: String,
    /// At most `count_max`.
    pub count: u64,
    /// The largest number of executions of one job.
    pub count_max: u64,
    /// True if more executions match than one job may have.
    pub is_too_many: bool,
}

/// The progress of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkProgress {
    /// The number of executions that were selected when the job was created.
    pub expected: u64,
    pub done: u64,
    /// Executions to which the action does not apply, such as one that has ended meanwhile.
    pub unchanged: u64,
    pub failed: u64,
}

impl BulkProgress {
    /// Returns the number of executions with a result.
    pub fn total(&self) -> u64 {
        self.done + self.unchanged + self.failed
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkJobView {
    pub job_id: String,
    pub action: String,
    /// `running`, `completed` or `stopped`.
    pub state: String,
    pub progress: BulkProgress,
    pub reason: Option<String>,
    pub created_at: String,
    pub ended_at: Option<String>,
}

impl BulkJobView {
    pub fn is_running(&self) -> bool {
        self.state == "running"
    }
}

/// Jobs, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkJobList {
    pub jobs: Vec<BulkJobView>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The result of one execution of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkItemView {
    pub execution_id: String,
    /// `done`, `unchanged` or `failed`.
    pub outcome: String,
    /// The execution that a retry or a rerun has started.
    pub started_execution_id: Option<String>,
    /// The reason why the execution is unchanged or the action failed.
    pub message: Option<String>,
}

/// Results of a job, by descending execution id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkItemList {
    pub items: Vec<BulkItemView>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}
