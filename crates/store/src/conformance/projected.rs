//! Conformance cases of projected events.

use noetl_model::{Envelope, Timestamp};
use serde_json::{Map, json};

use super::Subject;
use super::given::at;

const SAYS: &str = "the store answers";

fn envelope(event_id: i64, execution_id: i64, created_at: Timestamp) -> Envelope {
    Envelope {
        event_id,
        execution_id,
        catalog_id: 0,
        created_at,
        tenant_id: "default".into(),
        organization_id: "größe".into(),
        parent_event_id: Some(event_id - 1),
        event_type: Some("step.exit".into()),
        node_id: None,
        node_name: Some("n".into()),
        node_type: None,
        status: None,
        duration: Some(0.1),
        context: Some(json!({ "z": 1.0, "a": [null] })),
        result: None,
        meta: Some(json!("m")),
        error: None,
        stack_trace: None,
        extra: Map::from_iter([("b".to_owned(), json!(2)), ("a".to_owned(), json!(1))]),
    }
}

async fn project(subject: &Subject, events: &[Envelope]) -> u64 {
    subject.records.project(events).await.expect(SAYS)
}

async fn ids(subject: &Subject, execution: i64, after: i64, limit: usize) -> Vec<i64> {
    let found = subject.records.projected(execution, after, limit).await.expect(SAYS);
    found.into_iter().map(|event| event.event_id).collect()
}

pub async fn a_projected_event_is_kept_once_and_whole(subject: Subject) {
    let first = envelope(3, 1, at(1));
    assert_eq!(project(&subject, std::slice::from_ref(&first)).await, 1);
    let other = Envelope { status: Some("later".into()), ..first.clone() };
    let second = envelope(4, 1, at(2));
    let again = [other, second.clone(), second.clone()];
    assert_eq!(project(&subject, &again).await, 1, "what is known stays as it is");
    assert_eq!(project(&subject, &[]).await, 0);
    let found = subject.records.projected(1, 0, 10).await.expect(SAYS);
    assert_eq!(found, [first, second]);
}

pub async fn projected_events_are_read_by_execution_a_page_at_a_time(subject: Subject) {
    let events = [envelope(5, 1, at(1)), envelope(3, 1, at(9)), envelope(4, 2, at(1))];
    assert_eq!(project(&subject, &events).await, 3);
    assert_eq!(ids(&subject, 1, 0, 10).await, [3, 5]);
    assert_eq!(ids(&subject, 1, 0, 1).await, [3]);
    assert_eq!(ids(&subject, 1, 3, 10).await, [5]);
    assert_eq!(ids(&subject, 7, 0, 10).await, [0; 0]);
}

pub async fn old_projected_events_are_forgotten_and_no_others(subject: Subject) {
    let events = [envelope(1, 1, at(1)), envelope(2, 1, at(2)), envelope(3, 1, at(3))];
    project(&subject, &events).await;
    let forget = async |limit| subject.records.forget_projected(at(3), limit).await.expect(SAYS);
    assert_eq!(forget(1).await, 1);
    assert_eq!(forget(10).await, 1);
    assert_eq!(forget(10).await, 0);
    assert_eq!(ids(&subject, 1, 0, 10).await, [3]);
}
