//! The end of what has one.

use async_trait::async_trait;
use noetl_model::Timestamp;

use crate::StoreError;

/// What is over: everything that ended before these instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// Results and objects that expired before this.
    pub expired: Timestamp,
    /// Values that only names referred to, if the last of those was given before this and is gone.
    pub payloads: Timestamp,
    /// Keychain entries that expired before this; until then they are known to have expired.
    pub keychain: Timestamp,
    /// Runtimes that were last heard before this.
    pub runtimes: Timestamp,
    /// Entries of the audit that are older than this.
    pub audit: Timestamp,
}

/// How much was collected.
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
    /// Collects what is over, at most `limit` of each; the answer is how much that was.
    async fn collect(&self, horizon: &Horizon, limit: usize) -> Result<Collected, StoreError>;

    /// Drops executions of whole months that ended at `before` or earlier, where nothing of them runs
    /// any more; the answer is those months, such as `2026_01`. A store that does not keep months
    /// apart drops none.
    async fn expire(&self, _before: Timestamp) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Forgets what lies in the place for large values and no row refers to: of those whose digest
    /// begins with this byte, the ones last put before an instant. The answer is how many there
    /// were; a store without such a place has none.
    async fn collect_blobs(&self, _first: u8, _before: Timestamp) -> Result<u64, StoreError> {
        Ok(0)
    }
}
