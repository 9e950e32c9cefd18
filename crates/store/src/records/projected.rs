//! Projected events of other systems, stored once each and read by execution.

use async_trait::async_trait;
use noetl_model::{Envelope, Timestamp};

use crate::StoreError;

/// The maximum number of events that one call stores or reads.
pub const PROJECT_MAX: usize = 1000;

#[async_trait]
pub trait Projected: Send + Sync {
    /// Stores events atomically, skipping known ids. Returns the number of stored events.
    async fn project(&self, events: &[Envelope]) -> Result<u64, StoreError>;

    /// Returns the events of an execution after `after`, ordered by id.
    async fn projected(
        &self,
        execution: i64,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError>;

    /// Deletes events older than `before`, at most `limit`. Returns their number.
    async fn forget_projected(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError>;
}
