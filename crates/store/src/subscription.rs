//! Storage of subscriptions: their events, and the row that results from each event.

use async_trait::async_trait;
use noetl_model::{
    CatalogId, EventId, ExecutionId, Seq, SubscriptionEvent, SubscriptionState, Timestamp,
};

use crate::StoreError;

/// The current state of one subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRow {
    /// The id of the subscription, which is also the parent of the executions that its messages
    /// start.
    pub id: ExecutionId,
    pub path: String,
    pub catalog_id: CatalogId,
    /// The number of events of the subscription.
    pub seq: Seq,
    pub last_event: SubscriptionEvent,
    pub updated_at: Timestamp,
}

impl SubscriptionRow {
    pub fn state(&self) -> SubscriptionState {
        self.last_event.state()
    }
}

/// An event of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionRecord {
    pub seq: Seq,
    pub event_id: EventId,
    pub event: SubscriptionEvent,
    pub at: Timestamp,
}

/// Storage of subscriptions and their events.
#[async_trait]
pub trait Subscriptions: Send + Sync {
    /// Appends an event to a subscription and stores its row. Returns false and writes nothing
    /// unless the subscription is at `row.seq - 1`, or if its path has another subscription that is
    /// not deactivated.
    async fn record(&self, row: &SubscriptionRow, event: EventId) -> Result<bool, StoreError>;

    async fn subscription(&self, id: ExecutionId) -> Result<Option<SubscriptionRow>, StoreError>;

    /// Returns the active subscription of a path, else the newest.
    async fn subscription_at(&self, path: &str) -> Result<Option<SubscriptionRow>, StoreError>;

    /// Lists subscriptions older than `before`, newest first, at most `PAGE_MAX`.
    async fn subscriptions(
        &self,
        before: Option<ExecutionId>,
    ) -> Result<Vec<SubscriptionRow>, StoreError>;

    /// Returns the events of a subscription after `after`, oldest first, at most `READ_EVENTS_MAX`.
    async fn subscription_events(
        &self,
        id: ExecutionId,
        after: Seq,
    ) -> Result<Vec<SubscriptionRecord>, StoreError>;
}
