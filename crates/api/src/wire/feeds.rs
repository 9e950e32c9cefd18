//! Bodies of the routes about feeds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{PublicEvent, log_name};

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

impl FeedFilter {
    /// True if an event passes the filter.
    pub fn shows(&self, path: &str, event: &PublicEvent) -> bool {
        let own = log_name(&event.event_type);
        let is_named = |pattern: &str| {
            matches(pattern, &event.event_type) || own.is_some_and(|own| matches(pattern, own))
        };
        let typed = self.types.is_empty() || self.types.iter().any(|pattern| is_named(pattern));
        let stands = self.statuses.is_empty()
            || self.statuses.iter().any(|status| status.eq_ignore_ascii_case(&event.status));
        typed && stands && self.path.as_ref().is_none_or(|pattern| matches(pattern, path))
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => pattern == text,
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(filter: serde_json::Value, expected: bool) {
        let filter: FeedFilter = serde_json::from_value(filter).expect("a filter");
        let event = PublicEvent {
            event_id: 1,
            seq: 1,
            event_type: "command.completed".to_owned(),
            node_id: None,
            node_name: None,
            node_type: None,
            status: "COMPLETED".to_owned(),
            created_at: String::new(),
            context: None,
            result: None,
            error: None,
            meta: json!({}),
        };
        assert_eq!(filter.shows("sales/daily", &event), expected, "{filter:?}");
    }

    #[test]
    fn a_filter_that_asks_for_nothing_shows_all() {
        check(json!({}), true);
    }

    #[test]
    fn types_and_paths_are_named_whole_or_by_their_beginning() {
        check(json!({ "types": ["command.completed"] }), true);
        check(json!({ "types": ["playbook.*", "command.*"] }), true);
        check(json!({ "types": ["command"] }), false);
        check(json!({ "types": ["execution.*"] }), false);
        check(json!({ "path": "sales/*" }), true);
        check(json!({ "path": "sales" }), false);
    }

    #[test]
    fn everything_that_is_asked_for_must_hold() {
        check(json!({ "types": ["command.*"], "statuses": ["completed"] }), true);
        check(json!({ "types": ["command.*"], "statuses": ["failed"] }), false);
        check(json!({ "types": ["command.*"], "path": "other" }), false);
    }
}

#[cfg(test)]
mod log_names {
    use super::*;

    #[test]
    fn an_event_is_found_by_the_name_that_the_log_has_for_it() {
        let shows = |pattern: &str, event_type: &str| {
            matches(pattern, event_type)
                || log_name(event_type).is_some_and(|own| matches(pattern, own))
        };
        assert!(shows("execution.started", "playbook_started"));
        assert!(shows("playbook_started", "playbook_started"));
        assert!(shows("execution.*", "playbook.completed"));
        assert!(shows("step.completed", "step.exit"));
        assert!(!shows("execution.started", "playbook.completed"));
    }
}
