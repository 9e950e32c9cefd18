//! The catalog on PostgreSQL.

use noetl_model::CatalogId;
use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{CatalogEntry, NewPlaybook, PAGE_MAX, StoreError};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Postgres, query};
use tokio::time::timeout;

use crate::PgStore;
use crate::instant::Instant;
use crate::open::PING_MAX;
use crate::row::{Named, is_disconnected, plain, store_error};

impl PgStore {
    pub(crate) async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError> {
        let NewPlaybook { catalog_id, path, kind, content, created_at } = playbook;
        let [path, kind, content] = [path, kind, content].map(|text| plain(&text).into_owned());
        let mut transaction = self.begin().await?;
        query(include_str!("../sql/lock_path.sql"))
            .bind(&path)
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        let newest = query(include_str!("../sql/newest_playbook.sql"))
            .bind(&path)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(store_error)?;
        let newest = newest.as_ref().map(Named).map(from_row::catalog_entry).transpose()?;
        let version = match newest {
            Some(newest) if newest.content == content => return Ok(newest),
            Some(newest) => newest.version + 1,
            None => 1,
        };
        query(include_str!("../sql/put_playbook.sql"))
            .bind(catalog_id.0)
            .bind(&path)
            .bind(i64::from(version))
            .bind(&kind)
            .bind(&content)
            .bind(Instant(created_at))
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
        let find = || query(include_str!("../sql/find_playbook.sql")).bind(catalog_id.0);
        let row = self.looked_up(find).await?;
        row.as_ref().map(Named).map(from_row::catalog_entry).transpose()
    }

    pub(crate) async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        let path = plain(path);
        let find = || match version {
            Some(version) => query(include_str!("../sql/find_playbook_version.sql"))
                .bind(path.clone())
                .bind(i64::from(version)),
            None => query(include_str!("../sql/newest_playbook.sql")).bind(path.clone()),
        };
        let row = self.looked_up(find).await?;
        row.as_ref().map(Named).map(from_row::catalog_entry).transpose()
    }

    pub(crate) async fn paths(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        let statement = query(include_str!("../sql/list_paths.sql"))
            .bind(at_most(limit, PAGE_MAX))
            .bind(plain(after.unwrap_or_default()));
        let rows = self.rows(statement).await?;
        rows.iter().map(Named).map(from_row::catalog_entry).collect()
    }
}

impl PgStore {
    /// Returns the row that a statement finds, in one round trip: uses the last connection without
    /// a ping, and another one if it is dead.
    async fn looked_up<'q>(
        &self,
        find: impl Fn() -> Query<'q, Postgres, PgArguments> + Send + Sync,
    ) -> Result<Option<PgRow>, StoreError> {
        let mut connection = if let Some(mut kept) = self.writers.last() {
            let is_trusted = kept.is_trusted();
            let asked = find().fetch_optional(&mut *kept.connection);
            let answered =
                if is_trusted { Ok(asked.await) } else { timeout(PING_MAX, asked).await };
            match answered {
                Ok(Ok(row)) => {
                    self.writers.keep(kept.connection);
                    return Ok(row);
                }
                Ok(Err(error)) if !is_disconnected(&error) => return Err(store_error(error)),
                Ok(Err(_)) | Err(_) => self.writers.replaced().await.map_err(store_error)?,
            }
        } else {
            self.pool.connection().await?
        };
        let row = find().fetch_optional(&mut *connection).await.map_err(store_error)?;
        self.writers.keep(connection);
        Ok(row)
    }
}
