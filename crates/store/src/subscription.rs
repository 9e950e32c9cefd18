//! Subscriptions as they are kept: their events, and with each the row that follows from it.

use async_trait::async_trait;
use noetl_model::{
    CatalogId, EventId, ExecutionId, Seq, SubscriptionEvent, SubscriptionState, Timestamp,
};

use crate::StoreError;

/// One subscription at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRow {
    /// Also what executions that its messages start have for a parent.
    pub id: ExecutionId,
    pub path: String,
    pub catalog_id: CatalogId,
    /// How many events it has.
    pub seq: Seq,
    pub last_event: SubscriptionEvent,
    pub updated_at: Timestamp,
}

impl SubscriptionRow {
    pub fn state(&self) -> SubscriptionState {
        self.last_event.state()
    }
}

/// Something that happened to a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionRecord {
    pub seq: Seq,
    pub event_id: EventId,
    pub event: SubscriptionEvent,
    pub at: Timestamp,
}

/// What has happened to subscriptions, and how they stand.
#[async_trait]
pub trait Subscriptions: Send + Sync {
    /// Writes down the first event of a subscription, or the next of one that stands at
    /// `row.seq - 1`; `false`, and nothing is written, if it does not, or if its path has another
    /// that is not deactivated.
    async fn record(&self, row: &SubscriptionRow, event: EventId) -> Result<bool, StoreError>;

    async fn subscription(&self, id: ExecutionId) -> Result<Option<SubscriptionRow>, StoreError>;

    /// The one of a path that is not deactivated, else the newest.
    async fn subscription_at(&self, path: &str) -> Result<Option<SubscriptionRow>, StoreError>;

    /// All of them, newest first, at most `PAGE_MAX`; those before one of them if it is named.
    async fn subscriptions(
        &self,
        before: Option<ExecutionId>,
    ) -> Result<Vec<SubscriptionRow>, StoreError>;

    /// What has happened to one, oldest first, at most `READ_EVENTS_MAX`.
    async fn subscription_events(
        &self,
        id: ExecutionId,
        after: Seq,
    ) -> Result<Vec<SubscriptionRecord>, StoreError>;
}
