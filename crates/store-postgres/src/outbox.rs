//! Owed messages.

use std::time::Duration;

use async_trait::async_trait;
use noetl_model::ExecutionId;
use noetl_store::{Outbox, OutboxRow, PAGE_MAX, StoreError};
use sqlx::{query, query_scalar};

use crate::PgStore;
use crate::row::{at_most, get, json, micros, number, store_error, unsigned};

#[async_trait]
impl Outbox for PgStore {
    async fn take(&self, limit: usize, visibility: Duration) -> Result<Vec<OutboxRow>, StoreError> {
        let rows = query(include_str!("../sql/take_messages.sql"))
            .bind(self.now())
            .bind(micros(visibility))
            .bind(at_most(limit, PAGE_MAX))
            .fetch_all(&self.pool)
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
                    attempts: number(row, "attempts")?,
                })
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        // RETURNING promises no order.
        taken.sort_by_key(|row| row.id);
        Ok(taken)
    }

    async fn sent(&self, ids: &[i64]) -> Result<(), StoreError> {
        query(include_str!("../sql/remove_messages.sql"))
            .bind(ids)
            .execute(&self.pool)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    async fn owed(&self) -> Result<u64, StoreError> {
        let count: i64 = query_scalar(include_str!("../sql/count_messages.sql"))
            .fetch_one(&self.pool)
            .await
            .map_err(store_error)?;
        unsigned(count, "count")
    }
}
