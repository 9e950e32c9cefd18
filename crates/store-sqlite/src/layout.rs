//! How the file is laid out and how full it is.

use async_trait::async_trait;
use noetl_model::ExecutionStatus;
use noetl_store::{Connections, Layout, StoreError, Tables};
use sqlx::query_scalar;

use crate::SqliteStore;
use crate::row::store_error;

/// What no execution can do without.
const NEEDED: &[&str] =
    &["catalog", "command", "event", "execution", "outbox", "payload", "snapshot", "timer"];

#[async_trait]
impl Layout for SqliteStore {
    async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        query_scalar(include_str!("../sql/count_executions.sql"))
            .bind(status.as_str())
            .bind(i64::try_from(max).unwrap_or(i64::MAX))
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)
    }

    async fn tables(&self) -> Result<Tables, StoreError> {
        let found: Vec<String> = query_scalar(include_str!("../sql/list_tables.sql"))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        let missing = NEEDED.iter().filter(|needed| !found.iter().any(|it| it == *needed));
        Ok(Tables { missing: missing.map(|&needed| needed.to_owned()).collect(), found })
    }

    fn connections(&self) -> Option<Connections> {
        let options = self.readers.options();
        Some(Connections {
            min: options.get_min_connections(),
            max: options.get_max_connections(),
            open: self.readers.size(),
            idle: u32::try_from(self.readers.num_idle()).unwrap_or(u32::MAX),
        })
    }
}
