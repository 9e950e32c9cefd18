//! Feeds and subscriptions over the faulty connection.

use async_trait::async_trait;
use noetl_model::{EventId, ExecutionId, Seq};
use noetl_store::{
    EventFeed, FeedCursor, FeedDelivery, FeedPage, FeedPoint, Feeds, NamedFeed, StoreError,
    SubscriptionRecord, SubscriptionRow, Subscriptions,
};

use super::Connection;

#[async_trait]
impl EventFeed for Connection {
    async fn feed(&self, after: &FeedCursor, limit: usize) -> Result<FeedPage, StoreError> {
        self.ask(self.store.feed(after, limit)).await
    }

    async fn feed_point(&self, point: &FeedPoint) -> Result<FeedCursor, StoreError> {
        self.ask(self.store.feed_point(point)).await
    }
}

#[async_trait]
impl Feeds for Connection {
    async fn add_feed(&self, feed: &NamedFeed) -> Result<bool, StoreError> {
        self.change(self.store.add_feed(feed)).await
    }

    async fn find_feed(&self, name: &str) -> Result<Option<NamedFeed>, StoreError> {
        self.ask(self.store.find_feed(name)).await
    }

    async fn list_feeds(&self) -> Result<Vec<NamedFeed>, StoreError> {
        self.ask(self.store.list_feeds()).await
    }

    async fn move_feed(
        &self,
        name: &str,
        from: &FeedCursor,
        to: &FeedCursor,
    ) -> Result<bool, StoreError> {
        self.change(self.store.move_feed(name, from, to)).await
    }

    async fn put_feed_delivery(
        &self,
        name: &str,
        delivery: &FeedDelivery,
    ) -> Result<bool, StoreError> {
        self.change(self.store.put_feed_delivery(name, delivery)).await
    }

    async fn remove_feed(&self, name: &str) -> Result<bool, StoreError> {
        self.change(self.store.remove_feed(name)).await
    }
}

#[async_trait]
impl Subscriptions for Connection {
    async fn record(&self, row: &SubscriptionRow, event: EventId) -> Result<bool, StoreError> {
        self.change(self.store.record(row, event)).await
    }

    async fn subscription(&self, id: ExecutionId) -> Result<Option<SubscriptionRow>, StoreError> {
        self.ask(self.store.subscription(id)).await
    }

    async fn subscription_at(&self, path: &str) -> Result<Option<SubscriptionRow>, StoreError> {
        self.ask(self.store.subscription_at(path)).await
    }

    async fn subscriptions(
        &self,
        before: Option<ExecutionId>,
    ) -> Result<Vec<SubscriptionRow>, StoreError> {
        self.ask(self.store.subscriptions(before)).await
    }

    async fn subscription_events(
        &self,
        id: ExecutionId,
        after: Seq,
    ) -> Result<Vec<SubscriptionRecord>, StoreError> {
        self.ask(self.store.subscription_events(id, after)).await
    }
}
