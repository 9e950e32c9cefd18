//! Turns on PostgreSQL.

use std::time::Duration;

use noetl_store::StoreError;
use sqlx::query;

use crate::PgStore;
use crate::row::{micros, plain, store_error};

impl PgStore {
    pub(crate) async fn take_turn(
        &self,
        name: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let taken = query(include_str!("../../sql/take_turn.sql"))
            .bind(plain(name))
            .bind(plain(holder))
            .bind(micros(lease))
            .bind(self.now())
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(taken.rows_affected() > 0)
    }

    pub(crate) async fn end_turn(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        query(include_str!("../../sql/end_turn.sql"))
            .bind(plain(name))
            .bind(plain(holder))
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(())
    }
}
