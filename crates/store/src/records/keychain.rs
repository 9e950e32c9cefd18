//! The keychain: secrets that were fetched or made for a while.

use async_trait::async_trait;
use noetl_model::{CatalogId, ExecutionId, Timestamp};
use serde_json::Value;

use super::Sealed;
use crate::StoreError;

/// A secret until an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct KeychainEntry {
    /// Tells it from all others.
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
    /// Keeps an entry, in place of the one of its cache key.
    async fn put_keychain_entry(&self, entry: &KeychainEntry) -> Result<(), StoreError>;

    /// The entry of a cache key, and counts that it was asked for at `now`.
    async fn keychain_entry(
        &self,
        cache_key: &str,
        now: Timestamp,
    ) -> Result<Option<KeychainEntry>, StoreError>;

    /// The entries of a playbook version, by cache key.
    async fn keychain_entries(
        &self,
        catalog_id: CatalogId,
        limit: usize,
    ) -> Result<Vec<KeychainEntry>, StoreError>;

    /// Says whether there was one.
    async fn remove_keychain_entry(&self, cache_key: &str) -> Result<bool, StoreError>;
}
