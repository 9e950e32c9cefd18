//! Several databases as one store: each execution is stored in exactly one of them.
//!
//! A call about one execution goes to its shard; a batch is split and its parts are written in
//! parallel; a call about all executions queries every shard in parallel and merges the answers.
//! The catalog is in the cluster's database.
//!
//! A shard that does not answer stops only its own executions: an append is answered by its own
//! shard, and a search for work returns that of the shards that answer. Lists and counts, which
//! would be wrong without a shard, fail.

mod append;
mod feed;
mod hash;
mod merge;
mod outbox;
mod ports;
mod reachability;
mod records;
mod retention;
mod step_logs;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use futures::future::{join_all, try_join_all};
use noetl_model::{ExecutionId, Timestamp, shard_of};
use noetl_store::{Blobs, StoreError};
use tokio::sync::Mutex;

use reachability::ShardReachability;

use crate::settings::{ClusterSettings, PgSettings};
use crate::{ClaimError, MachineClaim, OpenError, PgStore, TimeSource};

/// A store over the shards of a cluster.
pub struct Shards {
    /// The shards; at least one.
    pub(crate) shards: Vec<PgStore>,
    /// The reachability of each shard.
    reachabilities: Vec<Arc<ShardReachability>>,
    cluster_reachability: Arc<ShardReachability>,
    pub(crate) cluster: PgStore,
    /// The shard whose messages are taken first, rotated so that a busy shard does not starve
    /// others.
    first_to_send: AtomicUsize,
    /// The lock held while children, and forks of executions in other shards, are started, so that this server waits for others' locks with
    /// at most one of its connections.
    relative_starts: Mutex<()>,
    /// The lock held while an execution is deleted, for the same reason.
    erasures: Mutex<()>,
}

impl Shards {
    /// Connects to every database of a cluster and prepares each.
    pub async fn connect(settings: ClusterSettings, time: TimeSource) -> Result<Self, OpenError> {
        let ClusterSettings { shards, cluster, pool } = settings;
        let connect =
            |database| PgStore::connect(PgSettings { database, pool: pool.clone() }, time.clone());
        let shards = try_join_all(shards.into_iter().map(connect)).await?;
        let has_cluster = cluster.is_some();
        let cluster = match cluster {
            Some(database) => connect(database).await?,
            None => shards[0].clone(),
        };
        let named = |(index, shard)| match shards.len() {
            1 => ShardReachability::of("the database".to_owned(), shard),
            _ => ShardReachability::of(format!("shard {index}"), shard),
        };
        let reachabilities: Vec<Arc<ShardReachability>> =
            shards.iter().enumerate().map(named).collect();
        let cluster_reachability = match has_cluster {
            true => ShardReachability::of("the cluster's database".to_owned(), &cluster),
            false => reachabilities[0].clone(),
        };
        Ok(Self {
            shards,
            reachabilities,
            cluster_reachability,
            cluster,
            first_to_send: AtomicUsize::new(0),
            relative_starts: Mutex::default(),
            erasures: Mutex::default(),
        })
    }

    /// Stores large payloads in blob storage, one for each shard by its number.
    #[must_use]
    pub fn with_blobs(mut self, blobs: impl Fn(usize) -> Arc<dyn Blobs>) -> Self {
        let with = |(number, shard): (usize, PgStore)| shard.with_blobs(blobs(number));
        self.shards = self.shards.into_iter().enumerate().map(with).collect();
        self
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Claims a machine number for this server: the preferred one, or the next free one.
    pub async fn claim_machine(&self, preferred: u16) -> Result<MachineClaim, ClaimError> {
        MachineClaim::near(&self.cluster.pool, preferred).await
    }

    /// Claims exactly this machine number for this server, or fails.
    pub async fn claim_exact_machine(&self, number: u16) -> Result<MachineClaim, ClaimError> {
        MachineClaim::exactly(&self.cluster.pool, number).await
    }

    /// Creates the missing partitions around `now` in every shard and returns their number.
    pub async fn upkeep(&self, now: Timestamp) -> Result<u32, StoreError> {
        let made = join_all(self.shards.iter().map(|shard| shard.upkeep(now))).await;
        made.into_iter().sum()
    }

    /// Drops the months that ended at `before` or earlier, in every shard; see
    /// [`PgStore::drop_expired`]. Returns the months that were dropped from any shard.
    pub async fn drop_expired(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        let dropped = join_all(self.shards.iter().map(|shard| shard.drop_expired(before))).await;
        let mut months = dropped.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
        months.sort();
        months.dedup();
        Ok(months)
    }

    /// Closes all connections once they are idle.
    pub async fn close(&self) {
        join_all(self.shards.iter().map(PgStore::close)).await;
        self.cluster.close().await;
    }

    fn index_of(&self, execution: ExecutionId) -> usize {
        shard_of(execution, self.shards.len())
    }

    fn shard(&self, execution: ExecutionId) -> &PgStore {
        &self.shards[self.index_of(execution)]
    }

    /// Queries every shard in parallel. Fails if one shard does not answer.
    pub(crate) async fn all<'a, T, F>(
        &'a self,
        ask: impl Fn(&'a PgStore) -> F,
    ) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.each(ask).await.into_iter().collect()
    }

    /// Queries every shard in parallel. Fails only if no shard answers.
    async fn answering<'a, T, F>(
        &'a self,
        ask: impl Fn(&'a PgStore) -> F,
    ) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let (mut answers, mut errors) = (Vec::new(), Vec::new());
        for answer in self.each(ask).await {
            answer.map_or_else(|error| errors.push(error), |answer| answers.push(answer));
        }
        match errors.into_iter().next() {
            Some(error) if answers.is_empty() => Err(error),
            Some(_) | None => Ok(answers),
        }
    }

    /// Queries every shard in parallel for a row that at most one has. Fails if the row may be in a
    /// shard that does not answer.
    async fn any<'a, T, F>(
        &'a self,
        ask: impl Fn(&'a PgStore) -> F,
    ) -> Result<Option<T>, StoreError>
    where
        F: Future<Output = Result<Option<T>, StoreError>>,
    {
        let mut missing = Ok(None);
        for answer in self.each(ask).await {
            match answer {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(error) => missing = Err(error),
            }
        }
        missing
    }

    async fn each<'a, T, F>(&'a self, ask: impl Fn(&'a PgStore) -> F) -> Vec<Result<T, StoreError>>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        join_all(self.shards.iter().enumerate().map(|(index, shard)| self.ask(index, ask(shard))))
            .await
    }

    /// Queries one shard. Fails at once if the shard is unreachable.
    async fn ask<T>(
        &self,
        index: usize,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.reachabilities[index].ask(question).await
    }

    /// Queries the shard of an execution.
    async fn in_shard<T>(
        &self,
        execution: ExecutionId,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.ask(self.index_of(execution), question).await
    }

    /// Queries the cluster's database.
    pub(crate) async fn in_cluster<T>(
        &self,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.cluster_reachability.ask(question).await
    }
}
