//! The keychain: cached secrets with an expiry.

use async_trait::async_trait;
use noetl_model::{CatalogId, ExecutionId, Timestamp};
use serde_json::Value;

use super::Sealed;
use crate::StoreError;

/// A cached secret with its expiry.
#[derive(Debug, Clone, PartialEq)]
pub struct KeychainEntry {
    /// The unique key of the entry.
    pub cache_key: String,
    pub name: String,
    pub catalog_id: CatalogId,
    pub scope: String,
    pub execution: Option<ExecutionId>,
    pub sealed: Sealed,
    pub expires_at: Timestamp,
    pub auto_renew: bool,
    pub renew_config: Option<Value>,
    pub access_count: u64,
    pub accessed_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

#[async_trait]
pub trait Keychain: Send + Sync {
    /// Stores an entry, replacing one with the same cache key.
    async fn put_keychain_entry(&self, entry: &KeychainEntry) -> Result<(), StoreError>;

    /// Returns the entry with a cache key and counts the access at `now`.
    async fn keychain_entry(
        &self,
        cache_key: &str,
        now: Timestamp,
    ) -> Result<Option<KeychainEntry>, StoreError>;

    /// Returns the entries of a playbook version, ordered by cache key.
    async fn keychain_entries(
        &self,
        catalog_id: CatalogId,
        limit: usize,
    ) -> Result<Vec<KeychainEntry>, StoreError>;

    /// Returns false if there was no such entry.
    async fn remove_keychain_entry(&self, cache_key: &str) -> Result<bool, StoreError>;
}
