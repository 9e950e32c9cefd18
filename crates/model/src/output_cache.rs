//! The cache of outputs: the key under which a command's output is found again.

use serde::{Deserialize, Serialize};

use crate::{CommandId, Digest, ExecutionId, IndexEntry, IndexKind, Timestamp};

/// The key of a cached output: the digest of the playbook's path, the task with its settings, and
/// the value of `cache.key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CacheKey(pub Digest);

impl CacheKey {
    /// Returns the index entry of a command whose output can be reused.
    pub fn index_entry(self, command: CommandId) -> IndexEntry {
        IndexEntry::new(IndexKind::CachedOutput, self.0.to_string(), Some(command))
    }
}

/// The cache of a command that was issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCache {
    pub key: CacheKey,
    /// The earlier output that the command reuses; a command without one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<ReusedOutput>,
}

/// The origin of a reused output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusedOutput {
    pub execution: ExecutionId,
    pub command: CommandId,
    /// The time at which that command completed.
    pub completed_at: Timestamp,
}
