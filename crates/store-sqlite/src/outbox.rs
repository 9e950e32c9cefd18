//! Owed messages.

use std::time::Duration;

use async_trait::async_trait;
use noetl_model::ExecutionId;
use noetl_store::{Outbox, OutboxRow, PAGE_MAX, StoreError};
use sqlx::{query, query_scalar};

use crate::SqliteStore;
use crate::row::{array, at_most, get, json, store_error};

#[async_trait]
impl Outbox for SqliteStore {
    async fn take(&self, limit: usize, visibility: Duration) -> Result<Vec<OutboxRow>, StoreError> {
        let mut writer = self.lazy_writer().await?;
        let now = self.clock.now();
        let rows = query(include_str!("../sql/take_messages.sql"))
            .bind(now.as_micros())
            .bind(now.after(visibility).as_micros())
            .bind(at_most(limit, PAGE_MAX))
            .fetch_all(&mut *writer)
            .await
            .map_err(store_error)?;
        let mut taken = rows
            .iter()
            .map(|row| {
                let id = get(row, "outbox_id")?;
                Ok(OutboxRow {
                    id,
                    execution: ExecutionId(get(row, "execution_id")?),
                    message: json(get(row, "message")?, || format!("message {id}"))?,
                    attempts: get(row, "attempts")?,
                })
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        // RETURNING promises no order.
        taken.sort_by_key(|row| row.id);
        Ok(taken)
    }

    async fn sent(&self, ids: &[i64]) -> Result<(), StoreError> {
        let mut writer = self.lazy_writer().await?;
        query(include_str!("../sql/remove_messages.sql"))
            .bind(array(ids))
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    async fn owed(&self) -> Result<u64, StoreError> {
        query_scalar(include_str!("../sql/count_messages.sql"))
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)
    }
}
