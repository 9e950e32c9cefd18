//! Storage of subscriptions: their events, and the row that results from each event.

use noetl_model::{
    CatalogId, EventId, ExecutionId, Seq, SubscriptionEvent, SubscriptionState, Timestamp,
};

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
