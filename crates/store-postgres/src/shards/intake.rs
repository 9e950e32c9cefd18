//! Failed messages, turns and projected events of a sharded store, all in the cluster's database.

use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{Envelope, ExecutionId, Timestamp};
use noetl_store::{FailedMark, FailedMessage, FailedMessages, Projected, StoreError, Turns};

use super::Shards;

#[async_trait]
impl FailedMessages for Shards {
    async fn put_failed_message(&self, message: &FailedMessage) -> Result<(), StoreError> {
        self.in_cluster(self.cluster.put_failed_message(message)).await
    }

    async fn failed_among(
        &self,
        subscription: ExecutionId,
        named: &[String],
        order_keys: &[String],
    ) -> Result<Vec<FailedMark>, StoreError> {
        self.in_cluster(self.cluster.failed_among(subscription, named, order_keys)).await
    }

    async fn failed_message(
        &self,
        subscription: ExecutionId,
        once: &str,
    ) -> Result<Option<FailedMessage>, StoreError> {
        self.in_cluster(self.cluster.failed_message(subscription, once)).await
    }

    async fn failed_messages(
        &self,
        subscription: ExecutionId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<FailedMessage>, StoreError> {
        self.in_cluster(self.cluster.failed_messages(subscription, after, limit)).await
    }

    async fn remove_failed_messages(
        &self,
        subscription: ExecutionId,
        named: &[String],
    ) -> Result<u64, StoreError> {
        self.in_cluster(self.cluster.remove_failed_messages(subscription, named)).await
    }
}

#[async_trait]
impl Turns for Shards {
    async fn take_turn(
        &self,
        name: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        self.in_cluster(self.cluster.take_turn(name, holder, lease)).await
    }

    async fn end_turn(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        self.in_cluster(self.cluster.end_turn(name, holder)).await
    }
}

#[async_trait]
impl Projected for Shards {
    async fn project(&self, events: &[Envelope]) -> Result<u64, StoreError> {
        self.in_cluster(self.cluster.project(events)).await
    }

    async fn projected(
        &self,
        execution: i64,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        self.in_cluster(self.cluster.projected(execution, after, limit)).await
    }

    async fn forget_projected(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError> {
        self.in_cluster(self.cluster.forget_projected(before, limit)).await
    }
}
