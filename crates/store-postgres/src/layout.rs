//! Operator's view of a database or of the shards of a cluster.

use noetl_model::ExecutionStatus;
use noetl_store::sql;
use noetl_store::{ConnectionFigures, StoreError, Tables};

use crate::{PgStore, Shards};

impl PgStore {
    pub(crate) fn write_fault(&self) -> Option<String> {
        None
    }

    pub(crate) fn shards(&self) -> usize {
        1
    }

    pub(crate) fn is_shared(&self) -> bool {
        true
    }

    pub(crate) fn connections(&self) -> Option<ConnectionFigures> {
        Some(ConnectionFigures {
            min: self.pool.connections_min(),
            max: self.pool.connections_max(),
            open: self.pool.open(),
            idle: self.pool.idle(),
        })
    }

    /// Returns zero: PostgreSQL reuses and returns space by itself.
    pub(crate) async fn return_space(&self, _limit: usize) -> Result<u64, StoreError> {
        Ok(0)
    }
}

impl Shards {
    pub(crate) async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        let counts = self.all(|shard| sql::count(shard, status, max)).await?;
        Ok(counts.into_iter().sum::<u64>().min(max))
    }

    /// Returns the tables of all shards. A table is missing if one shard lacks it.
    pub(crate) async fn tables(&self) -> Result<Tables, StoreError> {
        let mut all = Tables::default();
        for Tables { found, missing } in self.all(sql::tables).await? {
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
        self.all(sql::check_writable).await?;
        self.in_cluster(sql::check_writable(&self.cluster)).await
    }

    pub(crate) fn write_fault(&self) -> Option<String> {
        None
    }

    pub(crate) fn is_shared(&self) -> bool {
        true
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
