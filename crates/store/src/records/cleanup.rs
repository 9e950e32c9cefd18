//! Deletion of expired records.

use async_trait::async_trait;
use noetl_model::Timestamp;

use crate::StoreError;

/// The instants before which expired records are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// For results and objects: their expiry.
    pub expired: Timestamp,
    /// For payloads that neither a log nor a name refers to: the time they were last named.
    pub payloads: Timestamp,
    /// For keychain entries: their expiry. Until deletion, a lookup can tell that an entry has
    /// expired.
    pub keychain: Timestamp,
    /// For runtimes: their last heartbeat.
    pub runtimes: Timestamp,
    /// For audit entries: their time.
    pub audit: Timestamp,
}

/// The number of deleted records by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    pub results: u64,
    pub payloads: u64,
    pub objects: u64,
    pub keychain: u64,
    pub runtimes: u64,
    pub audit: u64,
}

impl Collected {
    pub fn total(self) -> u64 {
        let Self { results, payloads, objects, keychain, runtimes, audit } = self;
        results + payloads + objects + keychain + runtimes + audit
    }
}

#[async_trait]
pub trait Cleanup: Send + Sync {
    /// Deletes expired records, at most `limit` of each kind, and returns their numbers.
    async fn collect(&self, horizon: &Horizon, limit: usize) -> Result<Collected, StoreError>;

    /// Drops the executions of whole months that ended at `before` or earlier and have no running
    /// execution. Returns the months, such as `2026_01`. A store without monthly partitions drops
    /// none.
    async fn expire(&self, _before: Timestamp) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Deletes blobs that no row refers to, among the digests that start with byte `first` and were
    /// last stored before `before`. Returns their number; zero for a store without blob storage.
    async fn collect_blobs(&self, _first: u8, _before: Timestamp) -> Result<u64, StoreError> {
        Ok(0)
    }
}
