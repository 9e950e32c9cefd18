//! Conformance cases of projected events.

use noetl_model::{
    Envelope, ExecutionId, ExecutionStatus, ImportedChange, StepChange, StepName, Timestamp,
};
use serde_json::{Map, json};

use super::Subject;
use super::given::at;
use crate::{
    EventPlace, EventSpan, ExecutionFilter, ImportedExecution, Page, PathFilter, ProjectedEvent,
    ProjectedOnto,
};

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
    let onto = ProjectedOnto::Existing;
    let events: Vec<_> = events
        .iter()
        .map(|envelope| ProjectedEvent { envelope: envelope.clone(), onto: onto.clone() })
        .collect();
    subject.records.project(&events).await.expect(SAYS)
}

/// Projects an event onto an imported execution.
async fn import(subject: &Subject, envelope: Envelope, change: ImportedChange) -> u64 {
    let event = ProjectedEvent { envelope, onto: ProjectedOnto::Imported(change) };
    subject.records.project(&[event]).await.expect(SAYS)
}

async fn imported(subject: &Subject, execution: i64) -> Option<ImportedExecution> {
    subject.records.imported(ExecutionId(execution)).await.expect(SAYS)
}

async fn listed(subject: &Subject, filter: &ExecutionFilter, before: i64) -> Vec<i64> {
    let page = Page { before: Some(ExecutionId(before)), limit: 2 };
    let found = subject.records.list_imported(filter, page).await.expect(SAYS);
    found.into_iter().map(|imported| imported.summary.execution.0).collect()
}

fn started(path: &str) -> ImportedChange {
    ImportedChange { path: Some(path.to_owned()), ..ImportedChange::default() }
}

fn ended(end: ExecutionStatus) -> ImportedChange {
    ImportedChange { end: Some(end), ..ImportedChange::default() }
}

fn entered(step: &str) -> ImportedChange {
    let step = Some(StepChange::Entered(StepName::new(step)));
    ImportedChange { step, ..ImportedChange::default() }
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

pub async fn an_imported_execution_is_the_fold_of_its_events_in_any_order(subject: Subject) {
    assert_eq!(imported(&subject, 1).await, None);
    let changes = [
        (envelope(10, 1, at(1)), started("a/B")),
        (envelope(20, 1, at(2)), entered("first")),
        (envelope(30, 1, at(3)), entered("second")),
        (envelope(40, 1, at(4)), ended(ExecutionStatus::Failed)),
        (envelope(50, 1, at(5)), ended(ExecutionStatus::Completed)),
    ];
    let of = |execution: i64, offset: i64, event: &Envelope| Envelope {
        execution_id: execution,
        event_id: event.event_id + offset,
        ..event.clone()
    };
    for (event, change) in &changes {
        assert_eq!(import(&subject, event.clone(), change.clone()).await, 1);
        assert_eq!(
            import(&subject, event.clone(), change.clone()).await,
            0,
            "known ids count once"
        );
    }
    for (event, change) in changes.iter().rev() {
        import(&subject, of(2, 1000, event), change.clone()).await;
    }
    let one = imported(&subject, 1).await.expect("it is known").summary;
    assert_eq!((one.playbook.path.as_str(), one.seq.0), ("a/B", 5));
    assert_eq!((one.status, one.started_at), (ExecutionStatus::Completed, at(1)));
    assert_eq!((one.ended_at, one.steps.total), (Some(at(5)), 2));
    assert_eq!(one.current_step, Some(StepName::new("second")));
    let other = imported(&subject, 2).await.expect("it is known").summary;
    assert_eq!(noetl_model::Summary { execution: one.execution, ..other }, one);
}

pub async fn imported_executions_are_listed_newest_first_and_filtered(subject: Subject) {
    for id in 1..=5 {
        import(&subject, envelope(id, id, at(1)), started(&format!("Path/{}", id % 2))).await;
    }
    import(&subject, envelope(15, 5, at(2)), ended(ExecutionStatus::Failed)).await;
    let child = ImportedChange { parent: Some(ExecutionId(9)), ..ImportedChange::default() };
    import(&subject, envelope(12, 2, at(2)), child).await;
    let all = ExecutionFilter::default();
    assert_eq!(listed(&subject, &all, i64::MAX).await, [5, 4]);
    assert_eq!(listed(&subject, &all, 4).await, [3, 2]);
    let failed = ExecutionFilter { status: Some(ExecutionStatus::Failed), ..all.clone() };
    assert_eq!(listed(&subject, &failed, i64::MAX).await, [5]);
    let part = ExecutionFilter { path: Some(PathFilter::Part("TH/1".into())), ..all.clone() };
    assert_eq!(listed(&subject, &part, 5).await, [3, 1]);
    let whole = ExecutionFilter { path: Some(PathFilter::Whole("path/1".into())), ..all.clone() };
    assert_eq!(listed(&subject, &whole, i64::MAX).await, [0; 0]);
    let below = ExecutionFilter { parent: Some(ExecutionId(9)), ..all };
    assert_eq!(listed(&subject, &below, i64::MAX).await, [2]);
}

pub async fn an_event_onto_an_existing_execution_imports_nothing(subject: Subject) {
    project(&subject, &[envelope(1, 7, at(1))]).await;
    assert_eq!(imported(&subject, 7).await, None);
    assert_eq!(listed(&subject, &ExecutionFilter::default(), i64::MAX).await, [0; 0]);
}

pub async fn projected_events_are_read_by_position_and_by_time(subject: Subject) {
    let events = [
        envelope(1, 1, at(3)),
        envelope(2, 1, at(1)),
        envelope(3, 1, at(3)),
        envelope(4, 2, at(2)),
    ];
    project(&subject, &events).await;
    let skipped = subject.records.projected_from(1, 1, 10).await.expect(SAYS);
    assert_eq!(skipped.iter().map(|event| event.event_id).collect::<Vec<_>>(), [2, 3]);
    let within = async |after, until| {
        let span = EventSpan { after, until };
        let found = subject.records.projected_within(1, span, 10).await.expect(SAYS);
        found.into_iter().map(|event| event.event_id).collect::<Vec<_>>()
    };
    assert_eq!(within(EventPlace::FIRST, EventPlace::LAST).await, [2, 1, 3]);
    let first = EventPlace { at: at(3), event_id: 1 };
    assert_eq!(within(EventPlace::FIRST, first).await, [2, 1]);
    assert_eq!(within(first, EventPlace::LAST).await, [3]);
}

pub async fn an_imported_execution_is_forgotten_with_its_last_event(subject: Subject) {
    import(&subject, envelope(1, 1, at(1)), started("old")).await;
    import(&subject, envelope(2, 2, at(1)), started("new")).await;
    import(&subject, envelope(3, 2, at(5)), ended(ExecutionStatus::Completed)).await;
    subject.records.forget_projected(at(3), 10).await.expect(SAYS);
    assert_eq!(imported(&subject, 1).await, None);
    assert!(imported(&subject, 2).await.is_some());
}
