//! Credentials on SQLite, and the keys of all sealed rows.

use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{
    Credential, CredentialFilter, CredentialKey, PAGE_MAX, Rewrap, SealedRow, SealedTable,
    StoreError,
};
use sqlx::{query, query_as};

use crate::SqliteStore;
use crate::row::{NamedRow, array, get, store_error};

impl SqliteStore {
    pub(crate) async fn put_credential(
        &self,
        credential: &Credential,
    ) -> Result<Option<Credential>, StoreError> {
        let described = credential.description.as_deref().unwrap_or_default();
        let mut writer = self.writer().await?;
        let row = query(include_str!("../../sql/put_credential.sql"))
            .bind(credential.id)
            .bind(&credential.name)
            .bind(&credential.kind)
            .bind(format!("{}\n{described}", credential.name).to_lowercase())
            .bind(credential.meta.as_ref().map(ToString::to_string))
            .bind(array(&credential.tags))
            .bind(&credential.description)
            .bind(&credential.sealed.key_version)
            .bind(&credential.sealed.wrapped_key)
            .bind(&credential.sealed.ciphertext)
            .bind(credential.created_at.as_micros())
            .bind(credential.updated_at.as_micros())
            .fetch_optional(&mut *writer)
            .await
            .map_err(store_error)?;
        row.as_ref().map(NamedRow).map(from_row::credential).transpose()
    }

    pub(crate) async fn credential(
        &self,
        key: &CredentialKey,
    ) -> Result<Option<Credential>, StoreError> {
        let statement = match key {
            CredentialKey::Id(id) => query(include_str!("../../sql/find_credential.sql")).bind(id),
            CredentialKey::Name(name) => {
                query(include_str!("../../sql/find_credential_by_name.sql")).bind(name)
            }
        };
        let row = self.row(statement).await?;
        row.as_ref().map(NamedRow).map(from_row::credential).transpose()
    }

    pub(crate) async fn credentials(
        &self,
        filter: &CredentialFilter,
        limit: usize,
    ) -> Result<Vec<Credential>, StoreError> {
        let statement = query(include_str!("../../sql/list_credentials.sql"))
            .bind(&filter.kind)
            .bind(filter.text.as_ref().map(|text| text.to_lowercase()))
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::credential).collect()
    }

    pub(crate) async fn remove_credential(&self, id: i64) -> Result<bool, StoreError> {
        let statement = query(include_str!("../../sql/remove_credential.sql")).bind(id);
        let removed = self.write(statement).await?;
        Ok(removed > 0)
    }

    pub(crate) async fn key_versions(
        &self,
        table: SealedTable,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        query_as(match table {
            SealedTable::Credential => include_str!("../../sql/count_credential_keys.sql"),
            SealedTable::Keychain => include_str!("../../sql/count_keychain_keys.sql"),
        })
        .fetch_all(&self.readers)
        .await
        .map_err(store_error)
    }

    pub(crate) async fn sealed_otherwise(
        &self,
        table: SealedTable,
        version: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<SealedRow>, StoreError> {
        let statement = match table {
            SealedTable::Credential => include_str!("../../sql/sealed_credentials.sql"),
            SealedTable::Keychain => include_str!("../../sql/sealed_keychain_entries.sql"),
        };
        let statement = query(statement).bind(version).bind(after).bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter()
            .map(|row| {
                let (key, id) = (get(row, "key")?, get(row, "id")?);
                Ok(SealedRow { key, id, sealed: from_row::sealed(NamedRow(row))? })
            })
            .collect()
    }

    pub(crate) async fn rewrap(
        &self,
        table: SealedTable,
        change: &Rewrap,
    ) -> Result<bool, StoreError> {
        let statement = query(match table {
            SealedTable::Credential => include_str!("../../sql/rewrap_credential.sql"),
            SealedTable::Keychain => include_str!("../../sql/rewrap_keychain_entry.sql"),
        })
        .bind(&change.key)
        .bind(&change.expected)
        .bind(&change.wrapped_key)
        .bind(&change.key_version);
        let changed = self.write(statement).await?;
        Ok(changed > 0)
    }
}
