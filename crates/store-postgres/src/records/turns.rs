//! Turns on PostgreSQL.

use std::time::Duration;

use noetl_store::StoreError;
use sqlx::query;

use crate::PgStore;
use crate::row::{micros, plain};

impl PgStore {
    pub(crate) async fn take_turn(
        &self,
        name: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let statement = query(include_str!("../../sql/take_turn.sql"))
            .bind(plain(name))
            .bind(plain(holder))
            .bind(micros(lease))
            .bind(self.now());
        let taken = self.write(statement).await?;
        Ok(taken > 0)
    }

    pub(crate) async fn end_turn(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        let statement =
            query(include_str!("../../sql/end_turn.sql")).bind(plain(name)).bind(plain(holder));
        self.write(statement).await?;
        Ok(())
    }
}
