//! Records of a sharded store: in the shard of their execution, or in the cluster's database.

use async_trait::async_trait;
use noetl_model::{CatalogId, ExecutionId, Timestamp};
use noetl_store::{
    AuditEntry, AuditFilter, Cleanup, Collected, Credential, CredentialFilter, CredentialKey,
    Credentials, Horizon, Keychain, KeychainEntry, NamedResult, Object, ObjectKey, Objects,
    ResultRef, Results, Rewrap, Runtime, RuntimeKey, Runtimes, SealedRow, SealedTable, SecretAudit,
    StoreError, Variable, Variables,
};

use super::Shards;

#[async_trait]
impl Variables for Shards {
    async fn put_variables(
        &self,
        execution: ExecutionId,
        variables: &[Variable],
    ) -> Result<(), StoreError> {
        self.in_shard(execution, self.shard(execution).put_variables(execution, variables)).await
    }

    async fn variables(&self, execution: ExecutionId) -> Result<Vec<Variable>, StoreError> {
        self.in_shard(execution, self.shard(execution).variables(execution)).await
    }

    async fn variable(
        &self,
        execution: ExecutionId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<Variable>, StoreError> {
        self.in_shard(execution, self.shard(execution).variable(execution, name, now)).await
    }

    async fn remove_variables(
        &self,
        execution: ExecutionId,
        name: Option<&str>,
    ) -> Result<u64, StoreError> {
        self.in_shard(execution, self.shard(execution).remove_variables(execution, name)).await
    }
}

#[async_trait]
impl Results for Shards {
    async fn put_result(
        &self,
        result: &NamedResult,
        body: &[u8],
    ) -> Result<NamedResult, StoreError> {
        self.shard(result.reference.execution).put_result(result, body).await
    }

    async fn result(
        &self,
        reference: &ResultRef,
        now: Timestamp,
    ) -> Result<Option<NamedResult>, StoreError> {
        self.in_shard(reference.execution, self.shard(reference.execution).result(reference, now))
            .await
    }
}

#[async_trait]
impl Credentials for Shards {
    async fn put_credential(
        &self,
        credential: &Credential,
    ) -> Result<Option<Credential>, StoreError> {
        self.in_cluster(self.cluster.put_credential(credential)).await
    }

    async fn credential(&self, key: &CredentialKey) -> Result<Option<Credential>, StoreError> {
        self.in_cluster(self.cluster.credential(key)).await
    }

    async fn credentials(
        &self,
        filter: &CredentialFilter,
        limit: usize,
    ) -> Result<Vec<Credential>, StoreError> {
        self.in_cluster(self.cluster.credentials(filter, limit)).await
    }

    async fn remove_credential(&self, id: i64) -> Result<bool, StoreError> {
        self.in_cluster(self.cluster.remove_credential(id)).await
    }

    async fn key_versions(&self, table: SealedTable) -> Result<Vec<(String, u64)>, StoreError> {
        self.in_cluster(self.cluster.key_versions(table)).await
    }

    async fn sealed_otherwise(
        &self,
        table: SealedTable,
        version: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<SealedRow>, StoreError> {
        self.in_cluster(self.cluster.sealed_otherwise(table, version, after, limit)).await
    }

    async fn rewrap(&self, table: SealedTable, change: &Rewrap) -> Result<bool, StoreError> {
        self.in_cluster(self.cluster.rewrap(table, change)).await
    }
}

#[async_trait]
impl Keychain for Shards {
    async fn put_keychain_entry(&self, entry: &KeychainEntry) -> Result<(), StoreError> {
        self.in_cluster(self.cluster.put_keychain_entry(entry)).await
    }

    async fn keychain_entry(
        &self,
        cache_key: &str,
        now: Timestamp,
    ) -> Result<Option<KeychainEntry>, StoreError> {
        self.in_cluster(self.cluster.keychain_entry(cache_key, now)).await
    }

    async fn keychain_entries(
        &self,
        catalog_id: CatalogId,
        limit: usize,
    ) -> Result<Vec<KeychainEntry>, StoreError> {
        self.in_cluster(self.cluster.keychain_entries(catalog_id, limit)).await
    }

    async fn remove_keychain_entry(&self, cache_key: &str) -> Result<bool, StoreError> {
        self.in_cluster(self.cluster.remove_keychain_entry(cache_key)).await
    }
}

#[async_trait]
impl SecretAudit for Shards {
    async fn note_access(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        self.in_cluster(self.cluster.note_access(entry)).await
    }

    async fn accesses(
        &self,
        filter: &AuditFilter,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.in_cluster(self.cluster.accesses(filter, limit)).await
    }
}

#[async_trait]
impl Runtimes for Shards {
    async fn put_runtime(&self, runtime: &Runtime) -> Result<Runtime, StoreError> {
        self.in_cluster(self.cluster.put_runtime(runtime)).await
    }

    async fn heard_runtime(&self, key: &RuntimeKey, now: Timestamp) -> Result<bool, StoreError> {
        self.in_cluster(self.cluster.heard_runtime(key, now)).await
    }

    async fn runtime(&self, key: &RuntimeKey) -> Result<Option<Runtime>, StoreError> {
        self.in_cluster(self.cluster.runtime(key)).await
    }

    async fn runtimes(&self, kind: &str) -> Result<Vec<Runtime>, StoreError> {
        self.in_cluster(self.cluster.runtimes(kind)).await
    }

    async fn remove_runtime(&self, key: &RuntimeKey) -> Result<bool, StoreError> {
        self.in_cluster(self.cluster.remove_runtime(key)).await
    }
}

#[async_trait]
impl Objects for Shards {
    async fn put_object(&self, object: &Object) -> Result<(), StoreError> {
        self.in_cluster(self.cluster.put_object(object)).await
    }

    async fn object(&self, key: &ObjectKey, now: Timestamp) -> Result<Option<Object>, StoreError> {
        self.in_cluster(self.cluster.object(key, now)).await
    }
}

#[async_trait]
impl Cleanup for Shards {
    /// Collects in all shards and in the cluster's database, which may also be one of the shards;
    /// collecting there twice is cheap.
    async fn collect(&self, horizon: &Horizon, limit: usize) -> Result<Collected, StoreError> {
        let mut collected = self.all(|shard| shard.collect(horizon, limit)).await?;
        collected.push(self.in_cluster(self.cluster.collect(horizon, limit)).await?);
        Ok(collected.into_iter().fold(Collected::default(), |sum, it| Collected {
            results: sum.results + it.results,
            payloads: sum.payloads + it.payloads,
            objects: sum.objects + it.objects,
            keychain: sum.keychain + it.keychain,
            runtimes: sum.runtimes + it.runtimes,
            audit: sum.audit + it.audit,
        }))
    }

    async fn expire(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        let months = self.drop_expired(before).await?;
        self.all(|shard| shard.drop_feed_batches(before)).await?;
        Ok(months)
    }

    /// Collects in the shards only: the cluster's database has no large payloads.
    async fn collect_blobs(&self, first: u8, before: Timestamp) -> Result<u64, StoreError> {
        Ok(self.all(|shard| shard.collect_blobs(first, before)).await?.into_iter().sum())
    }
}
