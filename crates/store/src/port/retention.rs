//! The storage port of deletion.

use async_trait::async_trait;

use crate::signature::*;

/// Deletion of ended executions, and the records that remain of them.
#[async_trait]
pub trait Retention: Send + Sync {
    /// Deletes the summary and the index entries of an execution and stores its tombstone, in one
    /// transaction. Keeps an execution that is running, is marked, has open work, or whose seq is
    /// not that of the tombstone. Relatives in other shards are not looked at: see
    /// [`Retention::keep_reason`].
    async fn erase(
        &self,
        execution: ExecutionId,
        tombstone: &Tombstone,
    ) -> Result<EraseAnswer, StoreError>;

    /// Returns the first relative, in any shard, for which an ended execution is kept: a fork, a
    /// running child or a running parent.
    async fn keep_reason(&self, execution: ExecutionId) -> Result<Option<KeepReason>, StoreError>;

    async fn tombstone(&self, execution: ExecutionId) -> Result<Option<Tombstone>, StoreError>;

    /// Releases large payloads that only deleted executions refer to, for at most `limit`
    /// references; [`Records::collect`](crate::Records::collect) deletes released payloads. Returns
    /// the number of references; zero if none are left.
    async fn erase_payloads(&self, limit: usize) -> Result<u64, StoreError>;

    /// Deletes the remaining rows of deleted executions, at most about `limit`. Returns their
    /// number, counting the end of each execution; zero if none are left.
    async fn erase_rows(&self, limit: usize) -> Result<u64, StoreError>;

    /// Returns space of deleted rows to the file system, at most `limit` pages. Returns the number
    /// of pages; zero for a store that does so by itself.
    async fn return_space(&self, limit: usize) -> Result<u64, StoreError>;

    /// Marks an execution to be kept, replacing an earlier mark. Returns false if there is no such
    /// execution: a mark and a deletion at the same time exclude each other.
    async fn put_keep_mark(
        &self,
        execution: ExecutionId,
        mark: &KeepMark,
    ) -> Result<bool, StoreError>;

    /// Removes the mark of an execution. Returns false if it had none.
    async fn remove_keep_mark(&self, execution: ExecutionId) -> Result<bool, StoreError>;

    async fn keep_mark(&self, execution: ExecutionId) -> Result<Option<KeepMark>, StoreError>;
}
