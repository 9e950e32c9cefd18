//! Runtimes on SQLite.

use noetl_model::Timestamp;
use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{RUNTIMES_MAX, Runtime, RuntimeKey, StoreError};
use serde_json::Value;
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};

impl SqliteStore {
    pub(crate) async fn put_runtime(&self, runtime: &Runtime) -> Result<Runtime, StoreError> {
        let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string);
        let mut writer = self.writer().await?;
        let row = query(include_str!("../../sql/put_runtime.sql"))
            .bind(runtime.id)
            .bind(&runtime.key.kind)
            .bind(&runtime.key.name)
            .bind(&runtime.uri)
            .bind(&runtime.status)
            .bind(text(&runtime.labels))
            .bind(text(&runtime.capabilities))
            .bind(runtime.capacity)
            .bind(text(&runtime.runtime))
            .bind(runtime.heartbeat.as_micros())
            .bind(runtime.created_at.as_micros())
            .bind(runtime.updated_at.as_micros())
            .fetch_one(&mut *writer)
            .await
            .map_err(store_error)?;
        from_row::runtime(NamedRow(&row))
    }

    pub(crate) async fn heard_runtime(
        &self,
        key: &RuntimeKey,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut writer = self.lazy_writer().await?;
        let heard = query(include_str!("../../sql/heard_runtime.sql"))
            .bind(&key.kind)
            .bind(&key.name)
            .bind(now.as_micros())
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(heard.rows_affected() > 0)
    }

    pub(crate) async fn runtime(&self, key: &RuntimeKey) -> Result<Option<Runtime>, StoreError> {
        let statement =
            query(include_str!("../../sql/find_runtime.sql")).bind(&key.kind).bind(&key.name);
        let row = self.row(statement).await?;
        row.as_ref().map(NamedRow).map(from_row::runtime).transpose()
    }

    pub(crate) async fn runtimes(&self, kind: &str) -> Result<Vec<Runtime>, StoreError> {
        let statement = query(include_str!("../../sql/list_runtimes.sql"))
            .bind(kind)
            .bind(at_most(RUNTIMES_MAX, RUNTIMES_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::runtime).collect()
    }

    pub(crate) async fn remove_runtime(&self, key: &RuntimeKey) -> Result<bool, StoreError> {
        let statement =
            query(include_str!("../../sql/remove_runtime.sql")).bind(&key.kind).bind(&key.name);
        let removed = self.write(statement).await?;
        Ok(removed > 0)
    }
}
