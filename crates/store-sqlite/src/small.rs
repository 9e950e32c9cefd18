//! The small ports: timers, payloads, snapshots.

use async_trait::async_trait;
use noetl_model::{Digest, ExecutionId, Seq, TimerId, Timestamp};
use noetl_store::{PAGE_MAX, Payloads, Snapshot, Snapshots, StoreError, TimerRow, Timers};
use sqlx::{query, query_as, query_scalar};

use crate::SqliteStore;
use crate::row::{at_most, store_error, stored};

#[async_trait]
impl Timers for SqliteStore {
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<TimerRow>, StoreError> {
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

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let due_at: Option<i64> = query_scalar(include_str!("../sql/next_timer.sql"))
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(due_at.map(Timestamp::from_micros))
    }
}

#[async_trait]
impl Payloads for SqliteStore {
    async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        query_scalar(include_str!("../sql/find_payload.sql"))
            .bind(&digest.as_bytes()[..])
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)
    }
}

#[async_trait]
impl Snapshots for SqliteStore {
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        let mut writer = self.writer().await?;
        query(include_str!("../sql/put_snapshot.sql"))
            .bind(execution.0)
            .bind(stored(snapshot.seq.0))
            .bind(snapshot.shape)
            .bind(&snapshot.body[..])
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError> {
        let row: Option<(u64, u32, Vec<u8>)> = query_as(include_str!("../sql/find_snapshot.sql"))
            .bind(execution.0)
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(row.map(|(seq, shape, body)| Snapshot { seq: Seq(seq), shape, body }))
    }
}
