//! Durable timers on SQLite, and the clock they are compared with.

use std::sync::Arc;

use noetl_model::{ExecutionId, TimerId, Timestamp};
use noetl_store::to_row::at_most;
use noetl_store::{Clock, PAGE_MAX, StoreError, TimerRow};
use sqlx::{query_as, query_scalar};

use crate::SqliteStore;
use crate::row::store_error;

impl SqliteStore {
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(crate) async fn time(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }
}

impl SqliteStore {
    pub(crate) async fn due(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<TimerRow>, StoreError> {
        let rows: Vec<(i64, u64, i64)> = query_as(include_str!("../sql/due_timers.sql"))
            .bind(now.as_micros())
            .bind(at_most(limit, PAGE_MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(rows
            .into_iter()
            .map(|(execution, timer, due_at)| TimerRow {
                execution: ExecutionId(execution),
                timer: TimerId(timer),
                due_at: Timestamp::from_micros(due_at),
            })
            .collect())
    }

    pub(crate) async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let due_at: Option<i64> = query_scalar(include_str!("../sql/next_timer.sql"))
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(due_at.map(Timestamp::from_micros))
    }
}
