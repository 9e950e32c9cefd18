//! Entries that existing clients expect in the events of an execution and the log does not store,
//! because they follow from the event before.

use noetl_api::PublicEvent;

/// Returns the derived entry of an event and its public status: a claimed command has started, a
/// completed command's call is done.
fn derived_of(event_type: &str) -> Option<(&'static str, &'static str)> {
    match event_type {
        "command.claimed" => Some(("command.started", "RUNNING")),
        "command.completed" => Some(("call.done", "COMPLETED")),
        _ => None,
    }
}

/// Adds the derived entries to events that are in the order of the log. An entry that an existing
/// worker has posted itself is not added again.
pub fn with_derived(events: Vec<PublicEvent>) -> Vec<PublicEvent> {
    let posted: Vec<(String, Option<String>)> = events
        .iter()
        .filter(|event| event.event_type == "command.started" || event.event_type == "call.done")
        .map(|event| (event.event_type.clone(), event.node_name.clone()))
        .collect();
    let is_posted = |event_type: &str, node: &Option<String>| {
        posted.iter().any(|(posted, at)| posted == event_type && at == node)
    };
    let mut shown = Vec::with_capacity(events.len());
    for event in events {
        let derived = derived_of(&event.event_type)
            .filter(|(event_type, _)| !is_posted(event_type, &event.node_name))
            .map(|(event_type, status)| PublicEvent {
                event_type: event_type.to_owned(),
                status: status.to_owned(),
                derived: true,
                ..event.clone()
            });
        shown.push(event);
        shown.extend(derived);
    }
    shown
}

#[cfg(test)]
mod tests {
    use noetl_api::{AnyId, EventSource};
    use serde_json::json;

    use super::*;

    fn event(id: i64, event_type: &str, node: &str) -> PublicEvent {
        PublicEvent {
            event_id: AnyId(id),
            seq: id.cast_unsigned(),
            event_type: event_type.to_owned(),
            node_id: Some(node.to_owned()),
            node_name: Some(node.to_owned()),
            node_type: None,
            status: "RUNNING".to_owned(),
            created_at: "2026-01-01T00:00:00.000000Z".to_owned(),
            timestamp: "2026-01-01T00:00:00.000000Z".to_owned(),
            duration: None,
            context: None,
            result: None,
            error: None,
            meta: json!({}),
            derived: false,
            source: EventSource::Log,
        }
    }

    #[track_caller]
    fn check(events: &[(&str, &str)], expected: &[&str]) {
        let events = events.iter().zip(1..).map(|((name, node), id)| event(id, name, node));
        let shown = with_derived(events.collect());
        let shown: Vec<String> = shown
            .iter()
            .map(|it| {
                let mark = if it.derived { " derived" } else { "" };
                format!("{} {} {}{mark}", it.event_id.0, it.event_type, it.status)
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_claim_and_an_end_of_a_command_have_an_index_entry() {
        check(
            &[("command.issued", "a"), ("command.claimed", "a"), ("command.completed", "a")],
            &[
                "1 command.issued RUNNING",
                "2 command.claimed RUNNING",
                "2 command.started RUNNING derived",
                "3 command.completed RUNNING",
                "3 call.done COMPLETED derived",
            ],
        );
    }

    #[test]
    fn an_entry_that_a_worker_has_posted_is_not_added() {
        check(
            &[("command.claimed", "a"), ("command.started", "a"), ("command.claimed", "b")],
            &[
                "1 command.claimed RUNNING",
                "2 command.started RUNNING",
                "3 command.claimed RUNNING",
                "3 command.started RUNNING derived",
            ],
        );
    }
}
