//! Events of others, as they were projected: kept once each, and read by execution.

use async_trait::async_trait;
use noetl_model::{Envelope, Timestamp};

use crate::StoreError;

/// How many events one call projects or reads at most.
pub const PROJECT_MAX: usize = 1000;

#[async_trait]
pub trait Projected: Send + Sync {
    /// Keeps events, all or none, except those whose id is known; the answer is how many were kept.
    async fn project(&self, events: &[Envelope]) -> Result<u64, StoreError>;

    /// The events of an execution in the order of their ids, from after one of them on.
    async fn projected(
        &self,
        execution: i64,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError>;

    /// Forgets events that are older, at most `limit`; the answer is how many there were.
    async fn forget_projected(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError>;
}
