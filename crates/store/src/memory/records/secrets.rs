//! In-memory credentials, keychain and audit log.

use std::collections::BTreeMap;

use noetl_model::{CatalogId, Timestamp};

use super::super::MemoryStore;
use crate::{
    AUDIT_PAGE_MAX, AuditEntry, AuditFilter, Credential, CredentialFilter, CredentialKey,
    KeychainEntry, PAGE_MAX, Rewrap, Sealed, SealedRow, SealedTable, StoreError,
};

impl MemoryStore {
    pub(crate) async fn put_credential(
        &self,
        credential: &Credential,
    ) -> Result<Option<Credential>, StoreError> {
        let mut tables = self.lock();
        let credentials = &mut tables.records.credentials;
        let created_at = match credentials.get(&credential.name) {
            Some(known) if known.id != credential.id => return Ok(None),
            Some(known) => known.created_at,
            None => credential.created_at,
        };
        let kept = Credential { created_at, ..credential.clone() };
        credentials.insert(kept.name.clone(), kept.clone());
        Ok(Some(kept))
    }

    pub(crate) async fn credential(
        &self,
        key: &CredentialKey,
    ) -> Result<Option<Credential>, StoreError> {
        let tables = self.lock();
        let credentials = &tables.records.credentials;
        Ok(match key {
            CredentialKey::Name(name) => credentials.get(name).cloned(),
            CredentialKey::Id(id) => credentials.values().find(|it| it.id == *id).cloned(),
        })
    }

    pub(crate) async fn credentials(
        &self,
        filter: &CredentialFilter,
        limit: usize,
    ) -> Result<Vec<Credential>, StoreError> {
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let has = |it: &Credential, text: &str| {
            let described = it.description.as_deref().unwrap_or_default();
            it.name.to_lowercase().contains(text) || described.to_lowercase().contains(text)
        };
        let tables = self.lock();
        let mut found: Vec<Credential> = tables
            .records
            .credentials
            .values()
            .filter(|it| filter.kind.as_ref().is_none_or(|kind| it.kind == *kind))
            .filter(|it| text.as_ref().is_none_or(|text| has(it, text)))
            .cloned()
            .collect();
        found.sort_by_key(|it| std::cmp::Reverse(it.id));
        found.truncate(limit.min(PAGE_MAX));
        Ok(found)
    }

    pub(crate) async fn remove_credential(&self, id: i64) -> Result<bool, StoreError> {
        let mut tables = self.lock();
        let before = tables.records.credentials.len();
        tables.records.credentials.retain(|_, it| it.id != id);
        Ok(tables.records.credentials.len() < before)
    }

    pub(crate) async fn key_versions(
        &self,
        table: SealedTable,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let mut versions: BTreeMap<String, u64> = BTreeMap::new();
        for row in self.sealed_rows(table) {
            *versions.entry(row.sealed.key_version).or_default() += 1;
        }
        Ok(versions.into_iter().collect())
    }

    pub(crate) async fn sealed_otherwise(
        &self,
        table: SealedTable,
        version: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<SealedRow>, StoreError> {
        let rows = self.sealed_rows(table).into_iter();
        let others =
            rows.filter(|row| row.key.as_str() > after && row.sealed.key_version != version);
        Ok(others.take(limit.min(PAGE_MAX)).collect())
    }

    pub(crate) async fn rewrap(
        &self,
        table: SealedTable,
        change: &Rewrap,
    ) -> Result<bool, StoreError> {
        let mut tables = self.lock();
        let records = &mut tables.records;
        let sealed = match table {
            SealedTable::Credential => {
                records.credentials.get_mut(&change.key).map(|it| &mut it.sealed)
            }
            SealedTable::Keychain => records.keychain.get_mut(&change.key).map(|it| &mut it.sealed),
        };
        let Some(sealed) = sealed.filter(|sealed| sealed.wrapped_key == change.expected) else {
            return Ok(false);
        };
        *sealed = Sealed {
            key_version: change.key_version.clone(),
            wrapped_key: change.wrapped_key.clone(),
            ciphertext: std::mem::take(&mut sealed.ciphertext),
        };
        Ok(true)
    }
}

impl MemoryStore {
    /// Returns all sealed rows of a table, ordered by key.
    fn sealed_rows(&self, table: SealedTable) -> Vec<SealedRow> {
        let tables = self.lock();
        let records = &tables.records;
        match table {
            SealedTable::Credential => records
                .credentials
                .values()
                .map(|it| SealedRow { key: it.name.clone(), id: it.id, sealed: it.sealed.clone() })
                .collect(),
            SealedTable::Keychain => records
                .keychain
                .values()
                .map(|it| SealedRow {
                    key: it.cache_key.clone(),
                    id: it.catalog_id.0,
                    sealed: it.sealed.clone(),
                })
                .collect(),
        }
    }
}

impl MemoryStore {
    pub(crate) async fn put_keychain_entry(&self, entry: &KeychainEntry) -> Result<(), StoreError> {
        let mut tables = self.lock();
        tables.records.keychain.insert(entry.cache_key.clone(), entry.clone());
        Ok(())
    }

    pub(crate) async fn keychain_entry(
        &self,
        cache_key: &str,
        now: Timestamp,
    ) -> Result<Option<KeychainEntry>, StoreError> {
        let mut tables = self.lock();
        Ok(tables.records.keychain.get_mut(cache_key).map(|entry| {
            entry.access_count += 1;
            entry.accessed_at = Some(now);
            entry.clone()
        }))
    }

    pub(crate) async fn keychain_entries(
        &self,
        catalog_id: CatalogId,
        limit: usize,
    ) -> Result<Vec<KeychainEntry>, StoreError> {
        let tables = self.lock();
        let entries = tables.records.keychain.values().filter(|it| it.catalog_id == catalog_id);
        Ok(entries.take(limit.min(PAGE_MAX)).cloned().collect())
    }

    pub(crate) async fn remove_keychain_entry(&self, cache_key: &str) -> Result<bool, StoreError> {
        Ok(self.lock().records.keychain.remove(cache_key).is_some())
    }
}

impl MemoryStore {
    pub(crate) async fn note_access(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        self.lock().records.audit.insert(entry.id, entry.clone());
        Ok(())
    }

    pub(crate) async fn accesses(
        &self,
        filter: &AuditFilter,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let AuditFilter { credential, execution, from, to } = filter;
        let tables = self.lock();
        let found = tables.records.audit.values().rev().filter(|it| {
            credential.as_ref().is_none_or(|name| it.credential == *name)
                && execution.is_none_or(|execution| it.execution == Some(execution))
                && from.is_none_or(|from| it.at >= from)
                && to.is_none_or(|to| it.at < to)
        });
        Ok(found.take(limit.min(AUDIT_PAGE_MAX)).cloned().collect())
    }
}
