//! Calls with one target: snapshots and open work in the shard of their execution, the catalog and
//! subscriptions in the cluster's database.

use async_trait::async_trait;
use noetl_model::{CatalogId, EventId, ExecutionId, Seq};
use noetl_store::{
    Catalog, CatalogEntry, NewPlaybook, OpenRows, OpenWork, ReplayBound, ReplayMark, SavedReplay,
    SavedReplays, Snapshot, Snapshots, StoreError, SubscriptionRecord, SubscriptionRow,
    Subscriptions,
};

use super::Shards;

#[async_trait]
impl Snapshots for Shards {
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.in_shard(execution, self.shard(execution).save(execution, snapshot)).await
    }

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError> {
        self.in_shard(execution, self.shard(execution).latest(execution)).await
    }
}

#[async_trait]
impl SavedReplays for Shards {
    async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError> {
        self.in_shard(execution, self.shard(execution).save_replay(execution, projection, replay))
            .await
    }

    async fn furthest_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        bound: ReplayBound,
    ) -> Result<Option<SavedReplay>, StoreError> {
        self.in_shard(
            execution,
            self.shard(execution).furthest_replay(execution, projection, bound),
        )
        .await
    }

    async fn saved_replays(&self, execution: ExecutionId) -> Result<Vec<ReplayMark>, StoreError> {
        self.in_shard(execution, self.shard(execution).saved_replays(execution)).await
    }
}

#[async_trait]
impl OpenRows for Shards {
    async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError> {
        self.in_shard(execution, self.shard(execution).open_work(execution)).await
    }
}

#[async_trait]
impl Catalog for Shards {
    async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError> {
        self.in_cluster(self.cluster.register(playbook)).await
    }

    async fn by_id(&self, catalog_id: CatalogId) -> Result<Option<CatalogEntry>, StoreError> {
        self.in_cluster(self.cluster.by_id(catalog_id)).await
    }

    async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        self.in_cluster(self.cluster.by_path(path, version)).await
    }

    async fn paths(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        self.in_cluster(self.cluster.paths(after, limit)).await
    }
}

#[async_trait]
impl Subscriptions for Shards {
    async fn record(&self, row: &SubscriptionRow, event: EventId) -> Result<bool, StoreError> {
        self.in_cluster(self.cluster.record(row, event)).await
    }

    async fn subscription(&self, id: ExecutionId) -> Result<Option<SubscriptionRow>, StoreError> {
        self.in_cluster(self.cluster.subscription(id)).await
    }

    async fn subscription_at(&self, path: &str) -> Result<Option<SubscriptionRow>, StoreError> {
        self.in_cluster(self.cluster.subscription_at(path)).await
    }

    async fn subscriptions(
        &self,
        before: Option<ExecutionId>,
    ) -> Result<Vec<SubscriptionRow>, StoreError> {
        self.in_cluster(self.cluster.subscriptions(before)).await
    }

    async fn subscription_events(
        &self,
        id: ExecutionId,
        after: Seq,
    ) -> Result<Vec<SubscriptionRecord>, StoreError> {
        self.in_cluster(self.cluster.subscription_events(id, after)).await
    }
}
