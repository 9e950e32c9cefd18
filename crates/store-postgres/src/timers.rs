//! The clock that leases and timers are compared with.

use std::sync::Arc;

use noetl_model::Timestamp;
use noetl_store::{Clock, StoreError};
use sqlx::query_scalar;
use tokio::time::Instant as Moment;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::store_error;

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
