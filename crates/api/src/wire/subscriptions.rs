//! Bodies of the routes for subscriptions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SubscribeRequest {
    /// The catalog path of a subscription.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionView {
    pub subscription_id: String,
    pub path: String,
    pub catalog_id: String,
    /// `REGISTERED`, `ACTIVE`, `PAUSED`, `DRAINING` or `DEACTIVATED`.
    pub state: String,
    pub last_event_type: String,
    pub updated_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionList {
    pub subscriptions: Vec<SubscriptionView>,
}

/// An event of a subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionEventView {
    pub seq: u64,
    pub event_id: String,
    pub event_type: String,
    pub state: String,
    pub created_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionEvents {
    pub events: Vec<SubscriptionEventView>,
}
