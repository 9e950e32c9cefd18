//! Partitions: made ahead of the months they hold, dropped when those have expired.

use noetl_model::Timestamp;
use noetl_store::StoreError;
use sqlx::query_scalar;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::store_error;

/// For how many months to come partitions are made.
const MONTHS_AHEAD: i32 = 2;

impl PgStore {
    /// Makes the partitions that are missing around `now`; the answer is how many were. Once a day is
    /// often enough.
    pub async fn upkeep(&self, now: Timestamp) -> Result<u32, StoreError> {
        self.make_partitions(Some(Instant(now))).await
    }

    pub(crate) async fn make_partitions(&self, now: Option<Instant>) -> Result<u32, StoreError> {
        let made: i32 = query_scalar(include_str!("../sql/make_partitions.sql"))
            .bind(now)
            .bind(MONTHS_AHEAD)
            .fetch_one(&self.pool)
            .await
            .map_err(store_error)?;
        Ok(made.unsigned_abs())
    }

    /// Drops what was started in months that ended at `before` or earlier, whole months at a time. A
    /// month with an execution that still runs stays. The answer is the months that are gone, such as
    /// `2026_01`.
    pub async fn drop_expired(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        query_scalar(include_str!("../sql/drop_partitions.sql"))
            .bind(Instant(before))
            .fetch_all(&self.pool)
            .await
            .map_err(store_error)
    }
}
