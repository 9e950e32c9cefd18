//! The keychain: secrets with an expiry time.

use noetl_model::{CatalogId, ExecutionId, Timestamp};
use noetl_store::{KeychainEntry, PAGE_MAX, SealedTable};
use serde_json::Value;

use super::{Vault, VaultError, plain_of};
use crate::envelope::{self, BoundRow};

/// A secret to be stored until it expires.
#[derive(Clone)]
pub struct NewKeychainSecret {
    pub cache_key: String,
    pub name: String,
    pub catalog_id: CatalogId,
    pub scope: String,
    pub execution: Option<ExecutionId>,
    pub data: Value,
    pub expires_at: Timestamp,
    pub auto_renew: bool,
    pub renew_config: Option<Value>,
}

/// A keychain entry that was found: valid with its data, or expired.
#[derive(Clone, PartialEq)]
pub enum KeychainSecret {
    Found { entry: KeychainEntry, data: Value },
    Expired(KeychainEntry),
}

impl Vault {
    /// Stores a secret (replaces one with the same cache key).
    pub async fn put_keychain(&self, new: NewKeychainSecret) -> Result<(), VaultError> {
        let plain = plain_of(&new.data)?;
        let NewKeychainSecret { cache_key, name, catalog_id, scope, execution, .. } = new;
        let place =
            BoundRow { table: SealedTable::Keychain.as_str(), key: &cache_key, id: catalog_id.0 };
        let sealed = envelope::seal(&self.keyring, place, &plain);
        let entry = KeychainEntry {
            sealed,
            cache_key,
            name,
            catalog_id,
            scope,
            execution,
            expires_at: new.expires_at,
            auto_renew: new.auto_renew,
            renew_config: new.renew_config,
            access_count: 0,
            accessed_at: None,
            created_at: self.now(),
        };
        Ok(self.records.put_keychain_entry(&entry).await?)
    }

    pub async fn keychain(&self, cache_key: &str) -> Result<Option<KeychainSecret>, VaultError> {
        let now = self.now();
        let Some(entry) = self.records.keychain_entry(cache_key, now).await? else {
            return Ok(None);
        };
        if entry.expires_at <= now {
            return Ok(Some(KeychainSecret::Expired(entry)));
        }
        let place = BoundRow {
            table: SealedTable::Keychain.as_str(),
            key: cache_key,
            id: entry.catalog_id.0,
        };
        let data = self.opened(place, &entry.sealed)?;
        Ok(Some(KeychainSecret::Found { entry, data }))
    }

    /// Lists the keychain entries of a playbook version.
    pub async fn keychain_of(
        &self,
        catalog_id: CatalogId,
    ) -> Result<Vec<KeychainEntry>, VaultError> {
        Ok(self.records.keychain_entries(catalog_id, PAGE_MAX).await?)
    }

    /// Deletes a keychain entry. Returns true if it existed.
    pub async fn remove_keychain(&self, cache_key: &str) -> Result<bool, VaultError> {
        Ok(self.records.remove_keychain_entry(cache_key).await?)
    }
}
