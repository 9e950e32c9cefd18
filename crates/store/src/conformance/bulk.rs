//! Conformance cases of bulk jobs.

use noetl_model::{Digest, ExecutionId, ExecutionStatus, Seq};

use super::Subject;
use super::given::at;
use crate::{
    BulkAction, BulkCounts, BulkFilter, BulkItem, BulkItemPage, BulkJob, BulkKey, BulkOutcome,
    BulkSelection, BulkState,
};

fn job(id: i64) -> BulkJob {
    let filter = BulkFilter {
        status: Some(ExecutionStatus::Failed),
        path: Some("team/*".into()),
        started_after: Some(at(1)),
        labels: vec!["team:größe".parse().expect("a label")],
        ..BulkFilter::default()
    };
    BulkJob {
        id,
        seq: Seq(1),
        action: BulkAction::Retry,
        reason: Some("größe".into()),
        actor: noetl_model::Actor::new("ada").ok(),
        selection: BulkSelection::Filter { filter, before: ExecutionId(i64::MAX) },
        key: None,
        state: BulkState::Running,
        expected: 7,
        counts: BulkCounts::default(),
        page: Vec::new(),
        cursor: None,
        is_planned: false,
        created_at: at(2),
        ended_at: None,
    }
}

fn item(execution: i64, outcome: BulkOutcome) -> BulkItem {
    BulkItem { execution: ExecutionId(execution), outcome, started: None, message: None }
}

async fn added(subject: &Subject, job: &BulkJob) -> BulkJob {
    subject.records.add_bulk_job(job).await.expect("the store adds a job")
}

async fn recorded(subject: &Subject, job: &BulkJob, items: &[BulkItem]) -> bool {
    subject.records.record_bulk(job, items).await.expect("the store records")
}

async fn found(subject: &Subject, id: i64) -> Option<BulkJob> {
    subject.records.bulk_job(id).await.expect("the store answers")
}

async fn open(subject: &Subject) -> Vec<i64> {
    let open = subject.records.open_bulk_jobs().await.expect("the store lists jobs");
    open.iter().map(|job| job.id).collect()
}

async fn items(subject: &Subject, id: i64, page: BulkItemPage) -> Vec<BulkItem> {
    subject.records.bulk_items(id, page).await.expect("the store lists results")
}

pub async fn a_job_is_what_was_recorded_last(subject: Subject) {
    assert_eq!(found(&subject, 5).await, None);
    assert_eq!(added(&subject, &job(5)).await, job(5));
    assert_eq!(added(&subject, &job(9)).await, job(9));
    assert_eq!(found(&subject, 5).await, Some(job(5)));
    assert_eq!(open(&subject).await, [5, 9]);
    let planned = BulkJob {
        seq: Seq(2),
        page: [30, 20].map(ExecutionId).to_vec(),
        is_planned: true,
        ..job(5)
    };
    assert!(recorded(&subject, &planned, &[]).await);
    assert_eq!(found(&subject, 5).await, Some(planned.clone()));
    let ended = BulkJob {
        seq: Seq(3),
        state: BulkState::Completed,
        page: Vec::new(),
        counts: BulkCounts { done: 1, unchanged: 0, failed: 1 },
        ended_at: Some(at(9)),
        ..planned
    };
    let results = [item(30, BulkOutcome::Done), item(20, BulkOutcome::Failed)];
    assert!(recorded(&subject, &ended, &results).await);
    assert_eq!(found(&subject, 5).await, Some(ended));
    assert_eq!(open(&subject).await, [9]);
    let listed = async |before, limit| {
        let jobs = subject.records.bulk_jobs(before, limit).await.expect("the store lists jobs");
        jobs.iter().map(|job| job.id).collect::<Vec<i64>>()
    };
    assert_eq!(listed(None, 10).await, [9, 5]);
    assert_eq!(listed(None, 1).await, [9]);
    assert_eq!(listed(Some(9), 10).await, [5]);
}

pub async fn of_two_that_change_a_job_at_once_one_comes_too_late(subject: Subject) {
    added(&subject, &job(5)).await;
    let next = BulkJob { seq: Seq(2), cursor: Some(ExecutionId(7)), ..job(5) };
    let late = BulkJob { seq: Seq(2), cursor: Some(ExecutionId(8)), ..job(5) };
    assert!(recorded(&subject, &next, &[]).await);
    assert!(!recorded(&subject, &late, &[item(1, BulkOutcome::Done)]).await);
    assert!(!recorded(&subject, &BulkJob { seq: Seq(4), ..job(5) }, &[]).await);
    assert!(!recorded(&subject, &BulkJob { seq: Seq(2), ..job(6) }, &[]).await);
    assert_eq!(found(&subject, 5).await, Some(next));
    let page = BulkItemPage { before: None, outcome: None, limit: 10 };
    assert_eq!(items(&subject, 5, page).await, []);
}

pub async fn a_key_creates_one_job(subject: Subject) {
    let key = |name: &str| Some(BulkKey { name: name.into(), request: Digest::of(b"wish") });
    let first = BulkJob { key: key("k"), ..job(5) };
    assert_eq!(added(&subject, &first).await, first);
    assert_eq!(added(&subject, &BulkJob { key: key("k"), ..job(6) }).await, first);
    assert_eq!(found(&subject, 6).await, None);
    let other = BulkJob { key: key("l"), ..job(6) };
    assert_eq!(added(&subject, &other).await, other);
    assert_eq!(added(&subject, &job(7)).await, job(7));
    assert_eq!(added(&subject, &job(8)).await, job(8));
    let moved = BulkJob { seq: Seq(2), ..first };
    assert!(recorded(&subject, &moved, &[]).await);
    assert_eq!(added(&subject, &BulkJob { key: key("k"), ..job(9) }).await, moved);
}

pub async fn results_are_listed_by_execution_and_by_outcome(subject: Subject) {
    added(&subject, &job(5)).await;
    added(&subject, &job(6)).await;
    let done = BulkItem { started: Some(ExecutionId(90)), ..item(3, BulkOutcome::Done) };
    let failed = BulkItem { message: Some("nö".into()), ..item(1, BulkOutcome::Failed) };
    let results = [done.clone(), item(2, BulkOutcome::Unchanged), failed.clone()];
    assert!(recorded(&subject, &BulkJob { seq: Seq(2), ..job(5) }, &results).await);
    let again = [item(3, BulkOutcome::Failed), item(4, BulkOutcome::Done)];
    assert!(recorded(&subject, &BulkJob { seq: Seq(3), ..job(5) }, &again).await);
    assert!(recorded(&subject, &BulkJob { seq: Seq(2), ..job(6) }, &again).await);
    let page = BulkItemPage { before: None, outcome: None, limit: 10 };
    let unchanged = item(2, BulkOutcome::Unchanged);
    let all = [item(4, BulkOutcome::Done), done.clone(), unchanged.clone(), failed.clone()];
    assert_eq!(items(&subject, 5, page).await, all, "an execution keeps its first result");
    let before = Some(ExecutionId(3));
    assert_eq!(items(&subject, 5, BulkItemPage { before, limit: 1, ..page }).await, [unchanged]);
    let outcome = Some(BulkOutcome::Failed);
    assert_eq!(items(&subject, 5, BulkItemPage { outcome, ..page }).await, [failed]);
    let outcome = Some(BulkOutcome::Done);
    assert_eq!(items(&subject, 5, BulkItemPage { outcome, limit: 1, ..page }).await, all[..1]);
    assert_eq!(
        items(
            &subject,
            5,
            BulkItemPage { outcome, before: before.map(|_| ExecutionId(4)), ..page }
        )
        .await,
        [done]
    );
}

pub async fn jobs_that_ended_long_ago_are_forgotten_with_their_results(subject: Subject) {
    for (id, ended_at) in [(1, Some(at(10))), (2, Some(at(20))), (3, Some(at(11))), (4, None)] {
        added(&subject, &job(id)).await;
        if let Some(ended_at) = ended_at {
            let state = BulkState::Stopped;
            let ended = BulkJob { seq: Seq(2), state, ended_at: Some(ended_at), ..job(id) };
            assert!(recorded(&subject, &ended, &[item(7, BulkOutcome::Done)]).await);
        }
    }
    let forget = async |seconds, limit| {
        subject.records.forget_bulk_jobs(at(seconds), limit).await.expect("the store forgets")
    };
    assert_eq!(forget(10, 10).await, 0);
    assert_eq!(forget(15, 1).await, 1);
    assert_eq!(forget(15, 10).await, 1);
    let left = subject.records.bulk_jobs(None, 10).await.expect("the store lists jobs");
    assert_eq!(left.iter().map(|job| job.id).collect::<Vec<_>>(), [4, 2]);
    let page = BulkItemPage { before: None, outcome: None, limit: 10 };
    assert_eq!(items(&subject, 1, page).await, []);
    assert_eq!(items(&subject, 2, page).await, [item(7, BulkOutcome::Done)]);
}
