//! Bodies of the routes about feeds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::PublicEvent;

/// The filter of a feed; a key that is left out filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedFilter {
    /// Public names of events, or their names in the log; a trailing `*` matches any rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The playbook's path; a trailing `*` matches any rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Statuses of events, ignoring case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct NewFeed {
    /// The feed's name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    #[serde(flatten)]
    pub filter: FeedFilter,
    /// Start position: `start`, `end` (the default), a cursor, or a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// A NATS subject to publish the events on. It must be below the prefix set by the operator
    /// (default `noetl.events`); `{event_type}` and `{execution_id}` are replaced for each event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FeedView {
    pub name: String,
    pub filter: FeedFilter,
    /// The NATS subject the server publishes the events on, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Position of the consumer.
    pub cursor: String,
    pub created_at: String,
    pub moved_at: String,
    /// State of the delivery to the subject; absent without a subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<FeedDeliveryView>,
}

/// The state of a feed's delivery to its subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum FeedDeliveryView {
    /// The last delivery succeeded, or there was none yet.
    Working,
    /// The last deliveries failed; the next one is tried at `retry_at`.
    Retrying { failures: u32, reason: String, retry_at: String },
    /// Too many deliveries failed; delivery resumes only when requested.
    Dead { failures: u32, reason: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FeedList {
    pub feeds: Vec<FeedView>,
}

/// An event of any execution.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FeedEvent {
    pub execution_id: String,
    /// The path of the execution's playbook.
    pub path: String,
    /// Position after this event.
    pub cursor: String,
    #[serde(flatten)]
    pub event: PublicEvent,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FeedEvents {
    pub events: Vec<FeedEvent>,
    /// Acknowledge this position once all events are processed.
    pub cursor: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct FeedAck {
    pub cursor: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct FeedSeek {
    /// `start`, `end`, a cursor, or a time.
    pub to: String,
}
