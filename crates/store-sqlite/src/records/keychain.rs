//! The keychain and the audit log on SQLite.

use noetl_model::{CatalogId, Timestamp};
use noetl_store::from_row;
use noetl_store::to_row::{at_most, stored};
use noetl_store::{AUDIT_PAGE_MAX, AuditEntry, AuditFilter, KeychainEntry, PAGE_MAX, StoreError};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};

impl SqliteStore {
    pub(crate) async fn put_keychain_entry(&self, entry: &KeychainEntry) -> Result<(), StoreError> {
        let statement = query(include_str!("../../sql/put_keychain_entry.sql"))
            .bind(&entry.cache_key)
            .bind(&entry.name)
            .bind(entry.catalog_id.0)
            .bind(&entry.scope)
            .bind(entry.execution.map(|it| it.0))
            .bind(&entry.sealed.key_version)
            .bind(&entry.sealed.wrapped_key)
            .bind(&entry.sealed.ciphertext)
            .bind(entry.expires_at.as_micros())
            .bind(entry.auto_renew)
            .bind(entry.renew_config.as_ref().map(ToString::to_string))
            .bind(stored(entry.access_count))
            .bind(entry.accessed_at.map(Timestamp::as_micros))
            .bind(entry.created_at.as_micros());
        self.write(statement).await?;
        Ok(())
    }

    pub(crate) async fn keychain_entry(
        &self,
        cache_key: &str,
        now: Timestamp,
    ) -> Result<Option<KeychainEntry>, StoreError> {
        let mut writer = self.lazy_writer().await?;
        let row = query(include_str!("../../sql/find_keychain_entry.sql"))
            .bind(cache_key)
            .bind(now.as_micros())
            .fetch_optional(&mut *writer)
            .await
            .map_err(store_error)?;
        row.as_ref().map(NamedRow).map(from_row::keychain_entry).transpose()
    }

    pub(crate) async fn keychain_entries(
        &self,
        catalog_id: CatalogId,
        limit: usize,
    ) -> Result<Vec<KeychainEntry>, StoreError> {
        let statement = query(include_str!("../../sql/list_keychain_entries.sql"))
            .bind(catalog_id.0)
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::keychain_entry).collect()
    }

    pub(crate) async fn remove_keychain_entry(&self, cache_key: &str) -> Result<bool, StoreError> {
        let statement = query(include_str!("../../sql/remove_keychain_entry.sql")).bind(cache_key);
        let removed = self.write(statement).await?;
        Ok(removed > 0)
    }
}

impl SqliteStore {
    pub(crate) async fn note_access(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let statement = query(include_str!("../../sql/put_access.sql"))
            .bind(entry.id)
            .bind(entry.at.as_micros())
            .bind(&entry.credential)
            .bind(&entry.operation)
            .bind(&entry.outcome)
            .bind(&entry.worker)
            .bind(entry.execution.map(|it| it.0))
            .bind(entry.parent_execution.map(|it| it.0))
            .bind(&entry.key_version)
            .bind(&entry.notes);
        self.write(statement).await?;
        Ok(())
    }

    pub(crate) async fn accesses(
        &self,
        filter: &AuditFilter,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let statement = query(include_str!("../../sql/list_accesses.sql"))
            .bind(&filter.credential)
            .bind(filter.execution.map(|it| it.0))
            .bind(filter.from.map(Timestamp::as_micros))
            .bind(filter.to.map(Timestamp::as_micros))
            .bind(at_most(limit, AUDIT_PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::audit_entry).collect()
    }
}
