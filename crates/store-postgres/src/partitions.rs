//! Monthly partitions: created ahead of time, and dropped when they have expired.

use std::time::Duration;

use noetl_model::Timestamp;
use noetl_store::{MAINTENANCE_MAX, StoreError};
use sqlx::{query, query_scalar};

use crate::PgStore;
use crate::instant::Instant;
use crate::pool::PooledTransaction;
use crate::row::store_error;

/// The number of future months for which partitions are created.
const MONTHS_AHEAD: i32 = 2;
/// The lock timeout of maintenance.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

impl PgStore {
    /// Creates the missing partitions around `now` and returns their number. Running this once a
    /// day is enough.
    pub async fn upkeep(&self, now: Timestamp) -> Result<u32, StoreError> {
        self.make_partitions(Some(Instant(now))).await
    }

    pub(crate) async fn make_partitions(&self, now: Option<Instant>) -> Result<u32, StoreError> {
        let mut transaction = self.begin_maintenance().await?;
        let made: i32 = query_scalar(include_str!("../sql/make_partitions.sql"))
            .bind(now)
            .bind(MONTHS_AHEAD)
            .fetch_one(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(made.unsigned_abs())
    }

    /// Drops the executions that were started in months that ended at `before` or earlier, whole
    /// months at a time. A month with a running execution is kept. Returns the dropped months, such
    /// as `2026_01`.
    pub async fn drop_expired(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        let mut transaction = self.begin_maintenance().await?;
        let months = query_scalar(include_str!("../sql/drop_partitions.sql"))
            .bind(Instant(before))
            .fetch_all(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(months)
    }

    /// Begins a transaction with a longer statement deadline but a short lock timeout, because
    /// other sessions queue behind a waiting lock.
    async fn begin_maintenance(&self) -> Result<PooledTransaction, StoreError> {
        let mut transaction = self.pool.begin().await?;
        query(include_str!("../sql/set_maintenance.sql"))
            .bind(MAINTENANCE_MAX.as_millis().to_string())
            .bind(LOCK_WAIT_MAX.as_millis().to_string())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        Ok(transaction)
    }
}
