//! Deletion of ended executions: the reasons for keeping one, and the record that remains.
//!
//! An execution is deleted in two steps. [`Retention::erase`](crate::Retention::erase) removes its
//! summary and stores its tombstone in one transaction; from then on it is gone for every reader. Its
//! other rows are deleted afterwards in batches of bounded size.

use noetl_model::{Actor, Digest, ExecutionId, ExecutionStatus, Seq, Summary, Timestamp};
use serde::{Deserialize, Serialize};

/// The number of deleted executions whose rows one call removes.
pub const ERASE_MAX: usize = 100;

/// The record that remains of a deleted execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    pub execution: ExecutionId,
    /// The playbook's path and version.
    pub path: String,
    pub version: u32,
    pub status: ExecutionStatus,
    /// The number of the last event.
    pub seq: Seq,
    /// The digest of the last event; `None` for events stored without digests.
    pub head: Option<Digest>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub deleted_at: Timestamp,
    /// The person or program that requested the deletion; `None` for the retention settings.
    pub actor: Option<Actor>,
}

impl Tombstone {
    /// Returns the tombstone of an execution with this summary.
    pub fn of(summary: &Summary, deleted_at: Timestamp, actor: Option<Actor>) -> Self {
        Self {
            execution: summary.execution,
            path: summary.playbook.path.clone(),
            version: summary.playbook.version,
            status: summary.status,
            seq: summary.seq,
            head: summary.head,
            started_at: summary.started_at,
            ended_at: summary.ended_at,
            deleted_at,
            actor,
        }
    }
}

/// A mark that protects an execution from deletion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepMark {
    pub since: Timestamp,
    pub reason: Option<String>,
    pub actor: Option<Actor>,
}

/// The reason why an execution is not deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeepReason {
    #[error("it is running")]
    Running,
    #[error("it is marked to be kept")]
    Marked,
    #[error("messages of it are still to be sent")]
    OpenWork,
    #[error("execution {0} is a fork of it")]
    Fork(ExecutionId),
    #[error("its child {0} is running")]
    RunningChild(ExecutionId),
    #[error("its parent {0} is running")]
    RunningParent(ExecutionId),
    /// The log has grown since the summary was read.
    #[error("it has changed meanwhile")]
    Changed,
}

/// The result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseAnswer {
    Erased,
    /// There is no such execution.
    Missing,
    Kept(KeepReason),
}
