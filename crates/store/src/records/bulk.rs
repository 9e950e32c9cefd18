//! Bulk jobs: one action on many executions, carried out page by page.
//!
//! A job names its next executions (`page`) in the store before it acts on them, so that a process
//! that takes over after a crash acts on exactly these again. Every change of a job is numbered: of
//! two processes that change a job at once, one comes too late.

use std::fmt;
use std::str::FromStr;

use noetl_model::{
    Actor, CatalogId, Digest, ExecutionId, ExecutionStatus, Label, SearchText, Seq, Timestamp,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The number of characters of an item's message that are stored.
pub const BULK_MESSAGE_MAX: usize = 500;

/// The action of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BulkAction {
    Cancel,
    /// Forks each execution where its failed work can be repeated.
    Retry,
    /// Starts the same version of the same playbook with the same workload.
    Rerun,
    /// Deletes ended executions; their tombstones remain.
    Delete,
}

impl BulkAction {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Rerun => "rerun",
            Self::Delete => "delete",
        }
    }

    /// True if the action has an effect on an execution with a status.
    pub const fn applies_to(self, status: ExecutionStatus) -> bool {
        match (self, status) {
            (Self::Cancel, ExecutionStatus::Running)
            | (Self::Retry, ExecutionStatus::Failed | ExecutionStatus::Cancelled)
            | (
                Self::Rerun | Self::Delete,
                ExecutionStatus::Completed | ExecutionStatus::Failed | ExecutionStatus::Cancelled,
            ) => true,
            (
                Self::Cancel,
                ExecutionStatus::Completed | ExecutionStatus::Failed | ExecutionStatus::Cancelled,
            )
            | (Self::Retry, ExecutionStatus::Running | ExecutionStatus::Completed)
            | (Self::Rerun | Self::Delete, ExecutionStatus::Running) => false,
        }
    }
}

/// The conditions of the executions of a job; all of them hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkFilter {
    pub status: Option<ExecutionStatus>,
    /// The playbook's path; a trailing `*` matches any rest.
    pub path: Option<String>,
    /// A part of the path, ignoring case.
    pub path_part: Option<String>,
    pub catalog_id: Option<CatalogId>,
    pub parent: Option<ExecutionId>,
    /// The earliest start.
    pub started_after: Option<Timestamp>,
    /// The latest start, exclusive.
    pub started_before: Option<Timestamp>,
    /// Labels that the execution has, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// The actor that requested the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// Words that the execution has, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<SearchText>,
}

/// The executions of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BulkSelection {
    /// The ids of the executions, in descending order.
    Ids(Vec<ExecutionId>),
    /// The executions below `before` to which filter and action apply when the job comes to them.
    Filter { filter: BulkFilter, before: ExecutionId },
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BulkState {
    Running,
    Completed,
    /// Ended by request; the executions that are left are not touched.
    Stopped,
}

impl BulkState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Stopped => "stopped",
        }
    }
}

/// The number of executions by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkCounts {
    pub done: u64,
    pub unchanged: u64,
    pub failed: u64,
}

impl BulkCounts {
    pub fn total(self) -> u64 {
        self.done + self.unchanged + self.failed
    }

    /// Returns the counts with one more outcome.
    #[must_use]
    pub fn with(self, outcome: BulkOutcome) -> Self {
        match outcome {
            BulkOutcome::Done => Self { done: self.done + 1, ..self },
            BulkOutcome::Unchanged => Self { unchanged: self.unchanged + 1, ..self },
            BulkOutcome::Failed => Self { failed: self.failed + 1, ..self },
        }
    }
}

/// A name under which one job is created, with the digest of its request: the same name with another
/// digest is a mistake of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkKey {
    pub name: String,
    pub request: Digest,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkJob {
    pub id: i64,
    /// The number of changes, this one included.
    pub seq: Seq,
    pub action: BulkAction,
    /// The reason of cancellations.
    pub reason: Option<String>,
    /// The person or program that created the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    pub selection: BulkSelection,
    pub key: Option<BulkKey>,
    pub state: BulkState,
    /// The number of executions that were selected when the job was created.
    pub expected: u64,
    pub counts: BulkCounts,
    /// The next executions, in descending order; their results are not stored yet.
    pub page: Vec<ExecutionId>,
    /// The execution below which the next page begins.
    pub cursor: Option<ExecutionId>,
    /// True if `page` is the last one.
    pub is_planned: bool,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// The result of one execution of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BulkOutcome {
    Done,
    /// The action does not apply to the execution.
    Unchanged,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("an outcome is done, unchanged or failed, not `{0}`")]
pub struct UnknownBulkOutcome(String);

impl BulkOutcome {
    pub const ALL: [Self; 3] = [Self::Done, Self::Unchanged, Self::Failed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for BulkOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for BulkOutcome {
    type Err = UnknownBulkOutcome;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let outcome = Self::ALL.into_iter().find(|outcome| outcome.as_str() == text);
        outcome.ok_or_else(|| UnknownBulkOutcome(text.to_owned()))
    }
}

/// One execution of a job, with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkItem {
    pub execution: ExecutionId,
    pub outcome: BulkOutcome,
    /// The execution that a retry or a rerun has started.
    pub started: Option<ExecutionId>,
    /// The reason why the execution is unchanged or the action failed.
    pub message: Option<String>,
}

/// A page of the results of a job, by descending execution id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkItemPage {
    /// Lists only executions below this one.
    pub before: Option<ExecutionId>,
    /// Lists only this outcome.
    pub outcome: Option<BulkOutcome>,
    pub limit: usize,
}
