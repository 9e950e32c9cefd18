//! The catalog.

use noetl_model::{CatalogId, Timestamp};

use super::{SqlDatabase, SqlTransaction as _, TransactionKind, all_of, first_of};
use crate::from_row::catalog_entry;
use crate::to_row::at_most;
use crate::{
    CatalogEntry, CatalogQuery, EntryState, NewPlaybook, PAGE_MAX, RegisteredVersion, StoreError,
};

pub async fn register<D: SqlDatabase>(
    database: &D,
    playbook: NewPlaybook,
) -> Result<RegisteredVersion, StoreError> {
    let NewPlaybook { catalog_id, path, kind, content, created_at } = playbook;
    let [path, kind, content] = [path, kind, content].map(|text| database.stored_text(text));
    let sql = database.sql();
    let mut transaction = database.begin(TransactionKind::Registration { path: &path }).await?;
    let newest = transaction.rows(&sql.newest_playbook, &[(&path).into()]).await?;
    let newest = newest.first().map(catalog_entry).transpose()?;
    let is_restored = newest.as_ref().is_some_and(|newest| newest.archived_at.is_some());
    if is_restored {
        let active: Option<Timestamp> = None;
        transaction.rows(&sql.set_archived, &[(&path).into(), active.into()]).await?;
    }
    let version = match newest {
        Some(newest) if newest.content == content => {
            transaction.commit().await?;
            let entry = CatalogEntry { archived_at: None, ..newest };
            return Ok(RegisteredVersion { entry, is_restored });
        }
        Some(newest) => newest.version + 1,
        None => 1,
    };
    let arguments = [
        catalog_id.into(),
        (&path).into(),
        version.into(),
        (&kind).into(),
        (&content).into(),
        created_at.into(),
    ];
    transaction.rows(&sql.put_playbook, &arguments).await?;
    transaction.commit().await?;
    let archived_at = None;
    let entry = CatalogEntry { catalog_id, path, version, kind, content, created_at, archived_at };
    Ok(RegisteredVersion { entry, is_restored })
}

pub async fn set_archived<D: SqlDatabase>(
    database: &D,
    path: &str,
    archived_at: Option<Timestamp>,
) -> Result<Option<CatalogEntry>, StoreError> {
    let sql = database.sql();
    let path = database.stored_text(path.to_owned());
    let mut transaction = database.begin(TransactionKind::Registration { path: &path }).await?;
    transaction.rows(&sql.set_archived, &[(&path).into(), archived_at.into()]).await?;
    let newest = transaction.rows(&sql.newest_playbook, &[(&path).into()]).await?;
    transaction.commit().await?;
    newest.first().map(catalog_entry).transpose()
}

pub async fn by_id<D: SqlDatabase>(
    database: &D,
    catalog_id: CatalogId,
) -> Result<Option<CatalogEntry>, StoreError> {
    let statement = &database.sql().find_playbook;
    first_of(database, statement, &[catalog_id.into()], catalog_entry).await
}

pub async fn by_path<D: SqlDatabase>(
    database: &D,
    path: &str,
    version: Option<u32>,
) -> Result<Option<CatalogEntry>, StoreError> {
    let sql = database.sql();
    match version {
        Some(version) => {
            let arguments = [path.into(), version.into()];
            first_of(database, &sql.find_playbook_version, &arguments, catalog_entry).await
        }
        None => first_of(database, &sql.newest_playbook, &[path.into()], catalog_entry).await,
    }
}

pub async fn entries_of_kind<D: SqlDatabase>(
    database: &D,
    kind: &str,
    state: EntryState,
) -> Result<Vec<CatalogEntry>, StoreError> {
    let limit = at_most(PAGE_MAX, PAGE_MAX).into();
    let arguments = [kind.into(), (state == EntryState::Archived).into(), limit];
    all_of(database, &database.sql().list_entries_of_kind, &arguments, catalog_entry).await
}

pub async fn paths<D: SqlDatabase>(
    database: &D,
    query: &CatalogQuery,
) -> Result<Vec<CatalogEntry>, StoreError> {
    let CatalogQuery { state, contents, after, limit } = query;
    let arguments = [
        at_most(*limit, PAGE_MAX).into(),
        after.as_deref().unwrap_or_default().into(),
        (*state == EntryState::Archived).into(),
        contents.is_included().into(),
        contents.text().into(),
    ];
    all_of(database, &database.sql().list_paths, &arguments, catalog_entry).await
}
