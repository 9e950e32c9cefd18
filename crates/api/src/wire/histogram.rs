//! Body of the histogram of executions.

use noetl_model::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The numbers of executions by time and status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionHistogram {
    /// The time that is counted: from `from` until before `until`.
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub from: Timestamp,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub until: Timestamp,
    /// The length of a bucket; the first and the last may be cut.
    pub step_seconds: u64,
    /// The largest number that is counted per bucket and status.
    pub count_max: u64,
    /// True if a count has reached `count_max`: the numbers are lower bounds.
    pub truncated: bool,
    pub buckets: Vec<HistogramBucket>,
}

/// The executions that started in a part of the time, by status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HistogramBucket {
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub from: Timestamp,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub until: Timestamp,
    pub running: u64,
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
}

impl HistogramBucket {
    /// Returns the number of executions of every status.
    pub fn total(&self) -> u64 {
        self.running + self.completed + self.failed + self.cancelled
    }
}
