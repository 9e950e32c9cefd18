//! Credentials, the keychain and the audit log.

use noetl_model::{CatalogId, Timestamp};
use serde_json::json;

use super::{SqlArgument, SqlDatabase, all_of, first_of, is_written};
use crate::from_row::{self, Columns as _};
use crate::to_row::at_most;
use crate::{
    AUDIT_PAGE_MAX, AuditEntry, AuditFilter, Credential, CredentialFilter, CredentialKey,
    KeychainEntry, PAGE_MAX, Rewrap, SealedRow, SealedTable, StoreError,
};

pub async fn put_credential<D: SqlDatabase>(
    database: &D,
    credential: &Credential,
) -> Result<Option<Credential>, StoreError> {
    let described = credential.description.as_deref().unwrap_or_default();
    let arguments = [
        credential.id.into(),
        (&credential.name).into(),
        (&credential.kind).into(),
        format!("{}\n{described}", credential.name).to_lowercase().into(),
        credential.meta.as_ref().map(ToString::to_string).into(),
        SqlArgument::texts(credential.tags.iter().map(String::as_str)),
        credential.description.as_deref().into(),
        (&credential.sealed.key_version).into(),
        (&credential.sealed.wrapped_key).into(),
        (&credential.sealed.ciphertext).into(),
        credential.created_at.into(),
        credential.updated_at.into(),
        credential.policy.as_ref().map(|policy| json!(policy).to_string()).into(),
    ];
    first_of(database, &database.sql().put_credential, &arguments, from_row::credential).await
}

pub async fn credential<D: SqlDatabase>(
    database: &D,
    key: &CredentialKey,
) -> Result<Option<Credential>, StoreError> {
    let sql = database.sql();
    let (statement, key) = match key {
        CredentialKey::Id(id) => (&sql.find_credential, (*id).into()),
        CredentialKey::Name(name) => (&sql.find_credential_by_name, name.into()),
    };
    first_of(database, statement, &[key], from_row::credential).await
}

pub async fn credentials<D: SqlDatabase>(
    database: &D,
    filter: &CredentialFilter,
    limit: usize,
) -> Result<Vec<Credential>, StoreError> {
    let arguments = [
        filter.kind.as_deref().into(),
        filter.text.as_ref().map(|text| text.to_lowercase()).into(),
        at_most(limit, PAGE_MAX).into(),
    ];
    all_of(database, &database.sql().list_credentials, &arguments, from_row::credential).await
}

pub async fn remove_credential<D: SqlDatabase>(database: &D, id: i64) -> Result<bool, StoreError> {
    is_written(database, &database.sql().remove_credential, &[id.into()]).await
}

pub async fn key_versions<D: SqlDatabase>(
    database: &D,
    table: SealedTable,
) -> Result<Vec<(String, u64)>, StoreError> {
    let statement = match table {
        SealedTable::Credential => &database.sql().count_credential_keys,
        SealedTable::Keychain => &database.sql().count_keychain_keys,
    };
    all_of(database, statement, &[], |row| Ok((row.string("key_version")?, row.number("rows")?)))
        .await
}

pub async fn sealed_otherwise<D: SqlDatabase>(
    database: &D,
    table: SealedTable,
    version: &str,
    after: &str,
    limit: usize,
) -> Result<Vec<SealedRow>, StoreError> {
    let statement = match table {
        SealedTable::Credential => &database.sql().sealed_credentials,
        SealedTable::Keychain => &database.sql().sealed_keychain_entries,
    };
    let arguments = [version.into(), after.into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, statement, &arguments, |row| {
        let (key, id) = (row.string("key")?, row.integer("id")?);
        Ok(SealedRow { key, id, sealed: from_row::sealed(row)? })
    })
    .await
}

pub async fn rewrap<D: SqlDatabase>(
    database: &D,
    table: SealedTable,
    change: &Rewrap,
) -> Result<bool, StoreError> {
    let statement = match table {
        SealedTable::Credential => &database.sql().rewrap_credential,
        SealedTable::Keychain => &database.sql().rewrap_keychain_entry,
    };
    let arguments = [
        (&change.key).into(),
        (&change.expected).into(),
        (&change.wrapped_key).into(),
        (&change.key_version).into(),
    ];
    is_written(database, statement, &arguments).await
}

pub async fn put_keychain_entry<D: SqlDatabase>(
    database: &D,
    entry: &KeychainEntry,
) -> Result<(), StoreError> {
    let arguments = [
        (&entry.cache_key).into(),
        (&entry.name).into(),
        entry.catalog_id.into(),
        (&entry.scope).into(),
        entry.execution.into(),
        (&entry.sealed.key_version).into(),
        (&entry.sealed.wrapped_key).into(),
        (&entry.sealed.ciphertext).into(),
        entry.expires_at.into(),
        entry.auto_renew.into(),
        entry.renew_config.as_ref().map(ToString::to_string).into(),
        entry.access_count.into(),
        entry.accessed_at.into(),
        entry.created_at.into(),
    ];
    database.write(&database.sql().put_keychain_entry, &arguments).await?;
    Ok(())
}

pub async fn keychain_entry<D: SqlDatabase>(
    database: &D,
    cache_key: &str,
    now: Timestamp,
) -> Result<Option<KeychainEntry>, StoreError> {
    let arguments = [cache_key.into(), now.into()];
    let statement = &database.sql().find_keychain_entry;
    first_of(database, statement, &arguments, from_row::keychain_entry).await
}

pub async fn keychain_entries<D: SqlDatabase>(
    database: &D,
    catalog_id: CatalogId,
    limit: usize,
) -> Result<Vec<KeychainEntry>, StoreError> {
    let arguments = [catalog_id.into(), at_most(limit, PAGE_MAX).into()];
    let statement = &database.sql().list_keychain_entries;
    all_of(database, statement, &arguments, from_row::keychain_entry).await
}

pub async fn remove_keychain_entry<D: SqlDatabase>(
    database: &D,
    cache_key: &str,
) -> Result<bool, StoreError> {
    is_written(database, &database.sql().remove_keychain_entry, &[cache_key.into()]).await
}

pub async fn note_access<D: SqlDatabase>(
    database: &D,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    let arguments = [
        entry.id.into(),
        entry.at.into(),
        (&entry.credential).into(),
        (&entry.operation).into(),
        (&entry.outcome).into(),
        entry.worker.as_deref().into(),
        entry.execution.into(),
        entry.parent_execution.into(),
        entry.key_version.as_deref().into(),
        entry.notes.as_deref().into(),
    ];
    database.write(&database.sql().put_access, &arguments).await?;
    Ok(())
}

pub async fn accesses<D: SqlDatabase>(
    database: &D,
    filter: &AuditFilter,
    limit: usize,
) -> Result<Vec<AuditEntry>, StoreError> {
    let arguments = [
        filter.credential.as_deref().into(),
        filter.execution.into(),
        filter.from.into(),
        filter.to.into(),
        at_most(limit, AUDIT_PAGE_MAX).into(),
    ];
    all_of(database, &database.sql().list_accesses, &arguments, from_row::audit_entry).await
}
