//! The catalog on SQLite.

use noetl_model::CatalogId;
use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{CatalogEntry, NewPlaybook, PAGE_MAX, StoreError};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};
use crate::store::begin;

impl SqliteStore {
    pub(crate) async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError> {
        let NewPlaybook { catalog_id, path, kind, content, created_at } = playbook;
        let mut writer = self.writer().await?;
        let mut transaction = begin(&mut writer).await?;
        let newest = query(include_str!("../sql/newest_playbook.sql"))
            .bind(&path)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(store_error)?;
        let newest = newest.as_ref().map(NamedRow).map(from_row::catalog_entry).transpose()?;
        let version = match newest {
            Some(newest) if newest.content == content => return Ok(newest),
            Some(newest) => newest.version + 1,
            None => 1,
        };
        query(include_str!("../sql/put_playbook.sql"))
            .bind(catalog_id.0)
            .bind(&path)
            .bind(version)
            .bind(&kind)
            .bind(&content)
            .bind(created_at.as_micros())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(CatalogEntry { catalog_id, path, version, kind, content, created_at })
    }

    pub(crate) async fn by_id(
        &self,
        catalog_id: CatalogId,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        let statement = query(include_str!("../sql/find_playbook.sql")).bind(catalog_id.0);
        let row = self.row(statement).await?;
        row.as_ref().map(NamedRow).map(from_row::catalog_entry).transpose()
    }

    pub(crate) async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        let statement = match version {
            Some(version) => {
                query(include_str!("../sql/find_playbook_version.sql")).bind(path).bind(version)
            }
            None => query(include_str!("../sql/newest_playbook.sql")).bind(path),
        };
        let row = self.row(statement).await?;
        row.as_ref().map(NamedRow).map(from_row::catalog_entry).transpose()
    }

    pub(crate) async fn paths(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        let statement = query(include_str!("../sql/list_paths.sql"))
            .bind(at_most(limit, PAGE_MAX))
            .bind(after.unwrap_or_default());
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::catalog_entry).collect()
    }
}
