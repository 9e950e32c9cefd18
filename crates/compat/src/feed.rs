//! The filter of a feed, by public names of events or by their names in the log.

use noetl_api::PublicEvent;
use noetl_api::wire::FeedFilter;

use crate::names::log_name;

/// True if an event of a playbook's execution passes the filter of a feed.
pub fn shows(filter: &FeedFilter, path: &str, event: &PublicEvent) -> bool {
    let own = log_name(&event.event_type);
    let is_named = |pattern: &str| {
        matches(pattern, &event.event_type) || own.is_some_and(|own| matches(pattern, own))
    };
    let typed = filter.types.is_empty() || filter.types.iter().any(|pattern| is_named(pattern));
    let stands = filter.statuses.is_empty()
        || filter.statuses.iter().any(|status| status.eq_ignore_ascii_case(&event.status));
    typed && stands && filter.path.as_ref().is_none_or(|pattern| matches(pattern, path))
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => pattern == text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use noetl_api::EventSource;

    use super::*;

    #[track_caller]
    fn check(filter: serde_json::Value, expected: bool) {
        let filter: FeedFilter = serde_json::from_value(filter).expect("a filter");
        let event = PublicEvent {
            event_id: noetl_api::AnyId(1),
            seq: 1,
            event_type: "command.completed".to_owned(),
            node_id: None,
            node_name: None,
            node_type: None,
            status: "COMPLETED".to_owned(),
            created_at: String::new(),
            timestamp: String::new(),
            duration: None,
            context: None,
            result: None,
            error: None,
            meta: json!({}),
            source: EventSource::Log,
            derived: false,
        };
        assert_eq!(shows(&filter, "sales/daily", &event), expected, "{filter:?}");
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
    fn every_condition_of_a_filter_must_hold() {
        check(json!({ "types": ["command.*"], "statuses": ["completed"] }), true);
        check(json!({ "types": ["command.*"], "statuses": ["failed"] }), false);
        check(json!({ "types": ["command.*"], "path": "other" }), false);
    }

    #[test]
    fn an_event_is_found_by_the_name_that_the_log_has_for_it() {
        let is_shown = |pattern: &str, event_type: &str| {
            matches(pattern, event_type)
                || log_name(event_type).is_some_and(|own| matches(pattern, own))
        };
        assert!(is_shown("execution.started", "playbook_started"));
        assert!(is_shown("playbook_started", "playbook_started"));
        assert!(is_shown("execution.*", "playbook.completed"));
        assert!(is_shown("step.completed", "step.exit"));
        assert!(!is_shown("execution.started", "playbook.completed"));
    }
}
