//! Maintenance of the event feed on PostgreSQL.

use noetl_model::Timestamp;
use noetl_store::StoreError;
use sqlx::query;

use crate::PgStore;
use crate::pool::ConnectionPool;
use crate::row::store_error;

/// Shifts the positions of future feed batches behind the existing ones.
pub(crate) async fn shift(pool: &ConnectionPool) -> Result<(), StoreError> {
    query(include_str!("../sql/shift_feed.sql"))
        .execute(&mut *pool.connection().await?)
        .await
        .map_err(store_error)?;
    Ok(())
}

/// The number of feed batches that one statement deletes.
const DROP_MAX: i64 = 1000;

impl PgStore {
    /// Deletes feed batches from before an instant whose executions are gone.
    pub(crate) async fn drop_feed_batches(&self, before: Timestamp) -> Result<(), StoreError> {
        loop {
            let statement = include_str!("../sql/drop_feed_batches.sql");
            let dropped = self.written(statement, &[before.into(), DROP_MAX.into()]).await?;
            if dropped.map_err(store_error)? == 0 {
                return Ok(());
            }
        }
    }
}
