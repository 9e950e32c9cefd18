//! Runtimes on PostgreSQL.

use noetl_model::Timestamp;
use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{RUNTIMES_MAX, Runtime, RuntimeKey, StoreError};
use serde_json::Value;
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, plain, store_error};

impl PgStore {
    pub(crate) async fn put_runtime(&self, runtime: &Runtime) -> Result<Runtime, StoreError> {
        let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string);
        let row = query(include_str!("../../sql/put_runtime.sql"))
            .bind(runtime.id)
            .bind(plain(&runtime.key.kind))
            .bind(plain(&runtime.key.name))
            .bind(runtime.uri.as_deref().map(plain))
            .bind(plain(&runtime.status))
            .bind(text(&runtime.labels))
            .bind(text(&runtime.capabilities))
            .bind(runtime.capacity)
            .bind(text(&runtime.runtime))
            .bind(Instant(runtime.heartbeat))
            .bind(Instant(runtime.created_at))
            .bind(Instant(runtime.updated_at))
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        from_row::runtime(Named(&row))
    }

    pub(crate) async fn heard_runtime(
        &self,
        key: &RuntimeKey,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let statement = query(include_str!("../../sql/heard_runtime.sql"))
            .bind(plain(&key.kind))
            .bind(plain(&key.name))
            .bind(Instant(now));
        let heard = self.write(statement).await?;
        Ok(heard > 0)
    }

    pub(crate) async fn runtime(&self, key: &RuntimeKey) -> Result<Option<Runtime>, StoreError> {
        let statement = query(include_str!("../../sql/find_runtime.sql"))
            .bind(plain(&key.kind))
            .bind(plain(&key.name));
        let row = self.row(statement).await?;
        row.as_ref().map(Named).map(from_row::runtime).transpose()
    }

    pub(crate) async fn runtimes(&self, kind: &str) -> Result<Vec<Runtime>, StoreError> {
        let statement = query(include_str!("../../sql/list_runtimes.sql"))
            .bind(plain(kind))
            .bind(at_most(RUNTIMES_MAX, RUNTIMES_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(Named).map(from_row::runtime).collect()
    }

    pub(crate) async fn remove_runtime(&self, key: &RuntimeKey) -> Result<bool, StoreError> {
        let statement = query(include_str!("../../sql/remove_runtime.sql"))
            .bind(plain(&key.kind))
            .bind(plain(&key.name));
        let removed = self.write(statement).await?;
        Ok(removed > 0)
    }
}
