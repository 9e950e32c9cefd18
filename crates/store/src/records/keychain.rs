//! The keychain: cached secrets with an expiry.

use noetl_model::{CatalogId, ExecutionId, Timestamp};
use serde_json::Value;

use super::Sealed;

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
