//! Operator's view of a database or of the shards of a cluster.

use noetl_model::ExecutionStatus;
use noetl_store::{ConnectionFigures, StoreError, Tables, WRITE_CHECK_LEN};
use sqlx::{query, query_scalar};

use crate::row::store_error;
use crate::{PgStore, Shards};

/// The tables that no execution can do without.
const NEEDED: &[&str] = &[
    "catalog",
    "command",
    "event",
    "execution",
    "outbox",
    "projection_snapshot",
    "result_store",
    "timer",
];

impl PgStore {
    pub(crate) async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        let count: i64 = query_scalar(include_str!("../sql/count_executions.sql"))
            .bind(status.as_str())
            .bind(i64::try_from(max).unwrap_or(i64::MAX))
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(count.unsigned_abs())
    }

    pub(crate) async fn tables(&self) -> Result<Tables, StoreError> {
        let found: Vec<String> = query_scalar(include_str!("../sql/list_tables.sql"))
            .fetch_all(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(Tables::of(found, NEEDED))
    }

    pub(crate) async fn check_writable(&self) -> Result<(), StoreError> {
        let statement = query(include_str!("../sql/check_writable.sql"))
            .bind(i32::try_from(WRITE_CHECK_LEN).unwrap_or(i32::MAX));
        self.write(statement).await?;
        match self.blobs() {
            Some(blobs) => blobs.check_writable().await,
            None => Ok(()),
        }
    }

    pub(crate) fn write_fault(&self) -> Option<String> {
        None
    }

    pub(crate) fn shards(&self) -> usize {
        1
    }

    pub(crate) fn connections(&self) -> Option<ConnectionFigures> {
        Some(ConnectionFigures {
            min: self.pool.connections_min(),
            max: self.pool.connections_max(),
            open: self.pool.open(),
            idle: self.pool.idle(),
        })
    }
}

impl Shards {
    pub(crate) async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        let counts = self.all(|shard| shard.count(status, max)).await?;
        Ok(counts.into_iter().sum::<u64>().min(max))
    }

    /// Returns the tables of all shards. A table is missing if one shard lacks it.
    pub(crate) async fn tables(&self) -> Result<Tables, StoreError> {
        let mut all = Tables::default();
        for Tables { found, missing } in self.all(|shard| shard.tables()).await? {
            all.found.extend(found);
            all.missing.extend(missing);
        }
        for names in [&mut all.found, &mut all.missing] {
            names.sort();
            names.dedup();
        }
        Ok(all)
    }

    pub(crate) async fn check_writable(&self) -> Result<(), StoreError> {
        self.all(|shard| shard.check_writable()).await?;
        self.in_cluster(self.cluster.check_writable()).await
    }

    pub(crate) fn write_fault(&self) -> Option<String> {
        None
    }

    pub(crate) fn connections(&self) -> Option<ConnectionFigures> {
        let of_shards = self.shards.iter().filter_map(PgStore::connections);
        of_shards.reduce(|all, one| ConnectionFigures {
            min: all.min + one.min,
            max: all.max + one.max,
            open: all.open + one.open,
            idle: all.idle + one.idle,
        })
    }
}
