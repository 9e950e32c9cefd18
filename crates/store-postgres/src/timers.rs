//! Durable timers on PostgreSQL, and the clock they are compared with.

use std::sync::Arc;

use noetl_model::{ExecutionId, TimerId, Timestamp};
use noetl_store::from_row::Columns as _;
use noetl_store::to_row::at_most;
use noetl_store::{Clock, PAGE_MAX, StoreError, TimerRow};
use sqlx::{query, query_scalar};
use tokio::time::Instant as Moment;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, get, store_error};

impl PgStore {
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.time.clock()
    }

    pub(crate) async fn time(&self) -> Result<Timestamp, StoreError> {
        if let Some(Instant(now)) = self.now() {
            return Ok(now);
        }
        let asked = Moment::now();
        let now: Instant = query_scalar(include_str!("../sql/read_clock.sql"))
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        self.time.observe(now, asked);
        Ok(now.0)
    }
}

impl PgStore {
    pub(crate) async fn due(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<TimerRow>, StoreError> {
        let statement = query(include_str!("../sql/due_timers.sql"))
            .bind(Instant(now))
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter()
            .map(|row| {
                Ok(TimerRow {
                    execution: ExecutionId(get(row, "execution_id")?),
                    timer: TimerId(Named(row).number("timer_id")?),
                    due_at: Named(row).instant("due_at")?,
                })
            })
            .collect()
    }

    pub(crate) async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let due_at: Option<Instant> = query_scalar(include_str!("../sql/next_timer.sql"))
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(due_at.map(|Instant(at)| at))
    }
}
