//! What has one home: snapshots with their execution, the catalog with the cluster.

use async_trait::async_trait;
use noetl_model::{CatalogId, ExecutionId};
use noetl_store::{Catalog, CatalogEntry, NewPlaybook, Snapshot, Snapshots, StoreError};

use super::Shards;

#[async_trait]
impl Snapshots for Shards {
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.shard(execution).save(execution, snapshot).await
    }

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError> {
        self.shard(execution).latest(execution).await
    }
}

#[async_trait]
impl Catalog for Shards {
    async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError> {
        self.cluster.register(playbook).await
    }

    async fn by_id(&self, catalog_id: CatalogId) -> Result<Option<CatalogEntry>, StoreError> {
        self.cluster.by_id(catalog_id).await
    }

    async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        self.cluster.by_path(path, version).await
    }

    async fn paths(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        self.cluster.paths(after, limit).await
    }
}
