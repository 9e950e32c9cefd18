//! Monthly partitions: created ahead of time, and dropped when they have expired.

use std::time::Duration;

use noetl_model::Timestamp;
use noetl_store::{MAINTENANCE_MAX, StoreError};
use sqlx::{query, query_scalar};

use crate::PgStore;
use crate::instant::Instant;
use crate::pool::PooledTransaction;
use crate::row::{is_locked, store_error};

/// The number of future months for which partitions are created.
const MONTHS_AHEAD: i32 = 2;
/// The lock timeout of maintenance.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);
/// The lock timeout of dropping a month. All appends queue behind this wait.
const DROP_LOCK_WAIT_MAX: Duration = Duration::from_millis(100);
/// The number of attempts to drop months whose tables are in use, per call, and the pause after each.
const DROP_TRIES_MAX: u32 = 5;
const DROP_PAUSE: Duration = Duration::from_millis(500);
/// The number of months that one call drops.
const DROP_MONTHS_MAX: usize = 120;

/// The result of an attempt to drop a month.
enum Dropped {
    Month(String),
    /// No month is expired and empty.
    NoMonth,
    /// Another session holds a lock on one of the tables.
    InUse,
}

impl PgStore {
    /// Creates the missing partitions around `now` and returns their number. Running this once a
    /// day is enough.
    pub async fn upkeep(&self, now: Timestamp) -> Result<u32, StoreError> {
        self.make_partitions(Some(Instant(now))).await
    }

    pub(crate) async fn make_partitions(&self, now: Option<Instant>) -> Result<u32, StoreError> {
        let mut transaction = self.begin_maintenance(LOCK_WAIT_MAX).await?;
        let made: i32 = query_scalar(include_str!("../sql/make_partitions.sql"))
            .bind(now)
            .bind(MONTHS_AHEAD)
            .fetch_one(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(made.unsigned_abs())
    }

    /// Drops the months that ended at `before` or earlier and in which nothing that is kept has rows,
    /// each in its own transaction. A month whose tables stay in use is left for the next call.
    /// Returns the dropped months, such as `2026_01`.
    pub async fn drop_expired(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        let (mut months, mut refused) = (Vec::new(), 0);
        while refused < DROP_TRIES_MAX && months.len() < DROP_MONTHS_MAX {
            match self.drop_month(before).await? {
                Dropped::Month(month) => months.push(month),
                Dropped::NoMonth => break,
                Dropped::InUse => {
                    refused += 1;
                    tokio::time::sleep(DROP_PAUSE).await;
                }
            }
        }
        Ok(months)
    }

    async fn drop_month(&self, before: Timestamp) -> Result<Dropped, StoreError> {
        let mut transaction = self.begin_maintenance(DROP_LOCK_WAIT_MAX).await?;
        let month = query_scalar::<_, Option<String>>(include_str!("../sql/drop_month.sql"))
            .bind(Instant(before))
            .fetch_one(&mut *transaction)
            .await;
        match month {
            Ok(Some(month)) => {
                transaction.commit().await.map_err(store_error)?;
                Ok(Dropped::Month(month))
            }
            Ok(None) => Ok(Dropped::NoMonth),
            Err(error) if is_locked(&error) => Ok(Dropped::InUse),
            Err(error) => Err(store_error(error)),
        }
    }

    /// Begins a transaction with a longer statement deadline but a short lock timeout, because
    /// other sessions queue behind a waiting lock.
    async fn begin_maintenance(
        &self,
        lock_wait_max: Duration,
    ) -> Result<PooledTransaction, StoreError> {
        let mut transaction = self.pool.begin().await?;
        query(include_str!("../sql/set_maintenance.sql"))
            .bind(MAINTENANCE_MAX.as_millis().to_string())
            .bind(lock_wait_max.as_millis().to_string())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        Ok(transaction)
    }
}
