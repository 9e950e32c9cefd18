//! Deletion of executions in a sharded store: an execution may have relatives, and its payloads may
//! be referred to, in other shards.

use noetl_model::{ExecutionId, ExecutionStatus, Parent};
use noetl_store::sql;
use noetl_store::{EraseAnswer, KeepReason, StoreError, Tombstone};

use sqlx::query;

use super::Shards;
use crate::PgStore;
use crate::pool::PooledTransaction;
use crate::row::store_error;

impl Shards {
    pub(crate) async fn keep_reason(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<KeepReason>, StoreError> {
        let reasons = self.all(|shard| sql::keep_reason(shard, execution)).await?;
        if let Some(reason) = reasons.into_iter().flatten().next() {
            return Ok(Some(reason));
        }
        let summary = sql::summary(self.shard(execution), execution);
        let summary = self.in_shard(execution, Box::pin(summary)).await?;
        let Some(parent) = summary.and_then(|it| it.parent).map(Parent::execution) else {
            return Ok(None);
        };
        let above = self.in_shard(parent, Box::pin(sql::summary(self.shard(parent), parent)));
        let is_running = above.await?.is_some_and(|it| it.status == ExecutionStatus::Running);
        Ok(is_running.then_some(KeepReason::RunningParent(parent)))
    }

    /// Deletes an execution, unless a relative in any shard keeps it.
    pub(crate) async fn erase(
        &self,
        execution: ExecutionId,
        tombstone: &Tombstone,
    ) -> Result<EraseAnswer, StoreError> {
        // A fork in another shard is seen, or comes later and finds no origin.
        let _turn = self.erasures.lock().await;
        let _lock = match self.shards.len() {
            1 => None,
            _ => Some(self.cluster_reachability.ask(self.lock_origin(execution)).await?),
        };
        if let Some(reason) = self.keep_reason(execution).await? {
            return Ok(EraseAnswer::Kept(reason));
        }
        let erased = sql::erase(self.shard(execution), execution, tombstone);
        self.in_shard(execution, Box::pin(erased)).await
    }

    /// Prevents other servers from starting forks of an execution in other shards until the returned
    /// transaction is dropped.
    async fn lock_origin(&self, origin: ExecutionId) -> Result<PooledTransaction, StoreError> {
        let mut transaction = self.cluster.pool.begin().await?;
        query(include_str!("../../sql/lock_origin.sql"))
            .bind(origin.0)
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        Ok(transaction)
    }

    pub(crate) async fn erase_payloads(&self, limit: usize) -> Result<u64, StoreError> {
        let shards: Vec<&PgStore> = self.shards.iter().collect();
        sql::erase_payloads_in(&shards, limit).await
    }

    pub(crate) async fn erase_rows(&self, limit: usize) -> Result<u64, StoreError> {
        Ok(self.all(|shard| sql::erase_rows(shard, limit)).await?.into_iter().sum())
    }

    /// Returns zero: PostgreSQL reuses and returns space by itself.
    pub(crate) async fn return_space(&self, _limit: usize) -> Result<u64, StoreError> {
        Ok(0)
    }
}
