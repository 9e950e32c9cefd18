//! Turns on SQLite.

use std::time::Duration;

use noetl_store::StoreError;
use sqlx::query;

use crate::SqliteStore;
use crate::row::store_error;

impl SqliteStore {
    pub(crate) async fn take_turn(
        &self,
        name: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let mut writer = self.lazy_writer().await?;
        let taken = query(include_str!("../../sql/take_turn.sql"))
            .bind(name)
            .bind(holder)
            .bind(now.after(lease).as_micros())
            .bind(now.as_micros())
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(taken.rows_affected() > 0)
    }

    pub(crate) async fn end_turn(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        let statement = query(include_str!("../../sql/end_turn.sql")).bind(name).bind(holder);
        self.write_lazily(statement).await?;
        Ok(())
    }
}
