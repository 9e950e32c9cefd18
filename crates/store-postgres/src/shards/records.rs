//! Records of a sharded store that are not in one place: named results, and what is collected.

use noetl_model::Timestamp;
use noetl_store::sql;
use noetl_store::{Collected, Horizon, NamedResult, ResultRef, StoreError};

use super::Shards;

impl Shards {
    pub(crate) async fn put_result(
        &self,
        result: &NamedResult,
        body: &[u8],
    ) -> Result<Option<NamedResult>, StoreError> {
        self.shard(result.reference.execution).put_result(result, body).await
    }

    pub(crate) async fn result(
        &self,
        reference: &ResultRef,
        now: Timestamp,
    ) -> Result<Option<NamedResult>, StoreError> {
        let found = Box::pin(sql::result(self.shard(reference.execution), reference, now));
        self.in_shard(reference.execution, found).await
    }

    /// Collects in all shards and in the cluster's database, which may also be one of the shards;
    /// collecting there twice is cheap.
    pub(crate) async fn collect(
        &self,
        horizon: &Horizon,
        limit: usize,
    ) -> Result<Collected, StoreError> {
        let mut collected = self.all(|shard| sql::collect(shard, horizon, limit)).await?;
        collected.push(self.in_cluster(sql::collect(&self.cluster, horizon, limit)).await?);
        Ok(collected.into_iter().fold(Collected::default(), |sum, it| Collected {
            results: sum.results + it.results,
            payloads: sum.payloads + it.payloads,
            objects: sum.objects + it.objects,
            keychain: sum.keychain + it.keychain,
            runtimes: sum.runtimes + it.runtimes,
            audit: sum.audit + it.audit,
            feed: sum.feed + it.feed,
            history: sum.history + it.history,
        }))
    }

    pub(crate) async fn expire(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        let months = self.drop_expired(before).await?;
        self.all(|shard| shard.drop_feed_batches(before)).await?;
        Ok(months)
    }

    /// Collects in the shards only: the cluster's database has no large payloads.
    pub(crate) async fn collect_blobs(
        &self,
        first: u8,
        before: Timestamp,
    ) -> Result<u64, StoreError> {
        Ok(self.all(|shard| sql::collect_blobs(shard, first, before)).await?.into_iter().sum())
    }
}
