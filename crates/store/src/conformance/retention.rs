//! Conformance cases of deletion: what goes, what is kept, and what remains.

use std::sync::Arc;

use noetl_model::{
    Actor, CatalogId, CommandId, Digest, Event, EventId, ExecutionId, ExecutionStatus, ForkPoint,
    Parent, Payload, PayloadRef, ScheduleEvent, ScheduleState, ScheduleStatus, Seq,
    SubscriptionEvent,
};

use super::Subject;
use super::given::{A, B, C, add, at, event, events_after, recorded, start};
use crate::{
    Append, EraseAnswer, ExecutionFilter, Horizon, KeepMark, KeepReason, NamedResult, ReplayBound,
    ResultRef, SCHEDULE_EVENTS_KEPT, SavedReplay, ScheduleRow, Snapshot, SubscriptionRow,
    Tombstone, Variable, VariableType,
};

const SAYS: &str = "the store answers";

/// Returns an append that starts and ends an execution with three events.
fn ended(execution: ExecutionId) -> Append {
    let mut append = events_after(execution, Seq::ZERO, 3);
    append.summary.status = ExecutionStatus::Completed;
    append.summary.ended_at = Some(at(3));
    append.summary.head = Some(Digest::of(b"head"));
    append
}

fn referring(append: Append, digest: Digest, size: usize) -> Append {
    let reference = PayloadRef { digest, size: size as u64 };
    let event = Event::ExecutionCompleted { output: Payload::Ref(reference), actor: None };
    let mut append = append;
    let seq = append.events[1].seq;
    append.events[1] = recorded(seq, event);
    append
}

fn variable() -> Variable {
    Variable {
        name: "v".into(),
        kind: VariableType::Computed,
        value: 1.into(),
        source_step: None,
        created_at: at(1),
        accessed_at: None,
        access_count: 0,
    }
}

fn named_result(execution: ExecutionId, digest: Digest) -> NamedResult {
    NamedResult {
        reference: ResultRef { execution, name: "r".into(), id: 1 },
        digest,
        scope: "execution".into(),
        source_step: None,
        created_at: at(1),
        expires_at: None,
    }
}

async fn erase(subject: &Subject, execution: ExecutionId) -> EraseAnswer {
    let Some(summary) = subject.store.summary(execution).await.expect(SAYS) else {
        return EraseAnswer::Missing;
    };
    let actor = Some(Actor::new("ada").expect("a name"));
    let tombstone = Tombstone::of(&summary, at(9), actor);
    subject.store.erase(execution, &tombstone).await.expect(SAYS)
}

/// Deletes everything that is left of deleted executions.
async fn sweep(subject: &Subject) {
    while subject.store.erase_payloads(1).await.expect(SAYS) > 0 {}
    while subject.store.erase_rows(2).await.expect(SAYS) > 0 {}
}

pub async fn an_ended_execution_is_deleted_and_its_tombstone_remains(subject: Subject) {
    let done = ended(A);
    subject.append(done.clone()).await.expect("A starts");
    subject.append(ended(B)).await.expect("B starts");
    let snapshot = Snapshot { seq: Seq(2), shape: 1, body: vec![1] };
    subject.store.save(A, &snapshot).await.expect(SAYS);
    let replay = SavedReplay {
        seq: Seq(2),
        last_id: done.events[1].event_id,
        last_at: at(0),
        shape: 1,
        body: vec![1],
    };
    subject.store.save_replay(A, "p", &replay).await.expect(SAYS);
    subject.records.put_variables(A, &[variable()]).await.expect(SAYS);

    assert_eq!(subject.store.tombstone(A).await.expect(SAYS), None);
    assert_eq!(erase(&subject, A).await, EraseAnswer::Erased);
    assert_eq!(subject.list(ExecutionFilter::default(), None, 10).await, [B.0]);
    assert_eq!(subject.store.summary(A).await.expect(SAYS), None);
    let tombstone = subject.store.tombstone(A).await.expect(SAYS).expect("a tombstone");
    assert_eq!(tombstone.head, Some(Digest::of(b"head")));
    assert_eq!((tombstone.status, tombstone.seq), (ExecutionStatus::Completed, Seq(3)));
    assert_eq!((tombstone.ended_at, tombstone.deleted_at), (Some(at(3)), at(9)));
    assert_eq!(tombstone.actor.map(|it| it.to_string()).as_deref(), Some("ada"));
    assert_eq!(erase(&subject, A).await, EraseAnswer::Missing);

    sweep(&subject).await;
    assert_eq!(subject.read(A).await, []);
    assert_eq!(subject.store.find(done.events[0].event_id).await.expect(SAYS), None);
    assert_eq!(subject.store.latest(A).await.expect(SAYS), None);
    let bound = ReplayBound { shape: 1, seq: Seq(9), last_id: None, last_at: None };
    assert_eq!(subject.store.furthest_replay(A, "p", bound).await.expect(SAYS), None);
    assert_eq!(subject.records.variables(A).await.expect(SAYS), []);
    assert_eq!(subject.read(B).await.len(), 3);
    assert!(subject.store.tombstone(A).await.expect(SAYS).is_some(), "the tombstone remains");
}

#[track_caller]
fn kept(answer: EraseAnswer, reason: KeepReason) {
    assert_eq!(answer, EraseAnswer::Kept(reason));
}

pub async fn an_execution_that_is_still_needed_is_kept(subject: Subject) {
    // A has a running child B; A also is the origin of the fork C.
    subject.append(ended(A)).await.expect("A starts");
    let mut child = start(B);
    child.summary.parent = Some(Parent::of(A, Some(CommandId(1))));
    subject.append(child).await.expect("B starts");
    kept(erase(&subject, B).await, KeepReason::Running);
    kept(erase(&subject, A).await, KeepReason::RunningChild(B));
    let reason = subject.store.keep_reason(A).await.expect(SAYS);
    assert_eq!(reason, Some(KeepReason::RunningChild(B)));

    let mut end = events_after(B, Seq(1), 1);
    end.summary.parent = Some(Parent::of(A, Some(CommandId(1))));
    end.summary.status = ExecutionStatus::Failed;
    subject.append(end).await.expect("B ends");
    let mut fork = events_after(C, Seq(1), 1);
    fork.summary.fork = Some(ForkPoint { execution: A, seq: Seq(1) });
    fork.summary.status = ExecutionStatus::Completed;
    subject.append(fork).await.expect("C starts");
    kept(erase(&subject, A).await, KeepReason::Fork(C));
    assert_eq!(erase(&subject, C).await, EraseAnswer::Erased);
    assert_eq!(erase(&subject, A).await, EraseAnswer::Erased);
    assert_eq!(erase(&subject, B).await, EraseAnswer::Erased);

    // A child of a running parent may still be asked for its end.
    let parent = ExecutionId(2001);
    let child = ExecutionId(2002);
    subject.append(start(parent)).await.expect("the parent starts");
    let mut below = ended(child);
    below.summary.parent = Some(Parent::of(parent, Some(CommandId(1))));
    subject.append(below).await.expect("the child starts");
    kept(erase(&subject, child).await, KeepReason::RunningParent(parent));

    let busy = ExecutionId(2003);
    subject.append(Append { queue: vec![add(1)], ..ended(busy) }).await.expect("it starts");
    kept(erase(&subject, busy).await, KeepReason::OpenWork);

    let changed = ExecutionId(2004);
    subject.append(ended(changed)).await.expect("it starts");
    let summary = subject.store.summary(changed).await.expect(SAYS).expect("a summary");
    let old = Tombstone { seq: Seq(2), ..Tombstone::of(&summary, at(9), None) };
    let answer = subject.store.erase(changed, &old).await.expect(SAYS);
    kept(answer, KeepReason::Changed);
    assert_eq!(subject.read(changed).await.len(), 3);
}

pub async fn a_payload_goes_with_the_last_execution_that_refers_to_it(subject: Subject) {
    let [own, shared, named] = ["[1,1]", "[2,2]", "[3,3]"]
        .map(|body| (Digest::of(body.as_bytes()), Arc::new(body.as_bytes().to_vec())));
    // B refers to a value that only A has stored.
    let first = referring(ended(A), shared.0, 5);
    let payloads = vec![own.clone(), shared.clone(), named.clone()];
    subject.append(Append { payloads, ..first }).await.expect("A starts");
    subject.append(referring(ended(B), shared.0, 5)).await.expect("B starts");
    let result = named_result(B, named.0);
    subject.records.put_result(&result, &named.1).await.expect(SAYS).expect("it is kept");

    let stored = async |digest: &Digest| subject.store.payload(digest).await.expect(SAYS).is_some();
    let collect = async || {
        let horizon = Horizon { payloads: at(1_000_000), ..Horizon::nothing() };
        subject.records.collect(&horizon, 100).await.expect(SAYS);
    };
    assert_eq!(erase(&subject, A).await, EraseAnswer::Erased);
    sweep(&subject).await;
    collect().await;
    assert!(!stored(&own.0).await, "nothing else refers to it");
    assert!(stored(&shared.0).await, "B refers to it");
    assert!(stored(&named.0).await, "a named result of B refers to it");

    assert_eq!(erase(&subject, B).await, EraseAnswer::Erased);
    sweep(&subject).await;
    collect().await;
    assert!(!stored(&shared.0).await);
    assert!(!stored(&named.0).await);
}

pub async fn a_marked_execution_is_kept_until_the_mark_is_removed(subject: Subject) {
    subject.append(ended(A)).await.expect("A starts");
    let mark = KeepMark { since: at(1), reason: Some("audit".into()), actor: None };
    assert!(subject.store.put_keep_mark(A, &mark).await.expect(SAYS));
    assert!(
        !subject.store.put_keep_mark(B, &mark).await.expect(SAYS),
        "there is no such execution"
    );
    assert_eq!(subject.store.keep_mark(B).await.expect(SAYS), None);
    assert_eq!(subject.store.keep_mark(A).await.expect(SAYS), Some(mark.clone()));
    let anew = KeepMark { reason: None, ..mark.clone() };
    assert!(subject.store.put_keep_mark(A, &anew).await.expect(SAYS));
    assert_eq!(subject.store.keep_mark(A).await.expect(SAYS), Some(anew));
    kept(erase(&subject, A).await, KeepReason::Marked);
    assert!(subject.store.remove_keep_mark(A).await.expect(SAYS));
    assert!(!subject.store.remove_keep_mark(A).await.expect(SAYS));
    assert_eq!(subject.store.keep_mark(A).await.expect(SAYS), None);
    assert_eq!(erase(&subject, A).await, EraseAnswer::Erased);
    assert!(!subject.store.put_keep_mark(A, &mark).await.expect(SAYS), "it is gone");
}

pub async fn a_late_write_for_a_deleted_execution_is_not_stored(subject: Subject) {
    subject.append(ended(A)).await.expect("A starts");
    assert_eq!(erase(&subject, A).await, EraseAnswer::Erased);
    let snapshot = Snapshot { seq: Seq(2), shape: 1, body: vec![1] };
    subject.store.save(A, &snapshot).await.expect(SAYS);
    let replay =
        SavedReplay { seq: Seq(2), last_id: EventId(1), last_at: at(0), shape: 1, body: vec![1] };
    subject.store.save_replay(A, "p", &replay).await.expect(SAYS);
    subject.records.put_variables(A, &[variable()]).await.expect(SAYS);
    let result = named_result(A, Digest::of(b"[1]"));
    assert_eq!(subject.records.put_result(&result, b"[1]").await.expect(SAYS), None);
    assert_eq!(subject.store.latest(A).await.expect(SAYS), None);
    assert_eq!(subject.store.saved_replays(A).await.expect(SAYS), []);
    assert_eq!(subject.records.variables(A).await.expect(SAYS), []);
    assert_eq!(subject.records.result(&result.reference, at(2)).await.expect(SAYS), None);
}

/// Servers make ids by their own clocks, so a fork and a child may have smaller ids than their origin.
pub async fn a_relative_with_a_smaller_id_keeps_an_execution(subject: Subject) {
    subject.append(ended(C)).await.expect("C starts");
    let mut fork = events_after(A, Seq(1), 1);
    fork.summary.fork = Some(ForkPoint { execution: C, seq: Seq(1) });
    fork.summary.status = ExecutionStatus::Completed;
    subject.append(fork).await.expect("A starts");
    let mut child = start(B);
    child.summary.parent = Some(Parent::of(C, Some(CommandId(1))));
    subject.append(child).await.expect("B starts");
    kept(erase(&subject, C).await, KeepReason::Fork(A));
    assert_eq!(erase(&subject, A).await, EraseAnswer::Erased);
    kept(erase(&subject, C).await, KeepReason::RunningChild(B));
}

pub async fn rows_of_deleted_executions_go_in_batches(subject: Subject) {
    for execution in [A, B] {
        let mut long = events_after(execution, Seq::ZERO, 10);
        long.summary.status = ExecutionStatus::Cancelled;
        long.events[0].event = event();
        subject.append(long).await.expect("it starts");
        assert_eq!(erase(&subject, execution).await, EraseAnswer::Erased);
    }
    let mut calls = 0;
    while subject.store.erase_rows(4).await.expect(SAYS) > 0 {
        calls += 1;
        assert!(calls < 100, "it ends");
    }
    assert_eq!(subject.read(A).await, []);
    assert_eq!(subject.read(B).await, []);
    assert_eq!(subject.store.erase_rows(4).await.expect(SAYS), 0);
}

pub async fn old_histories_and_places_of_the_feed_are_collected(subject: Subject) {
    let of_schedule = |seq: u64| ScheduleRow {
        path: "s".to_owned(),
        seq: Seq(seq),
        standing: ScheduleStatus {
            catalog_id: CatalogId(7),
            state: ScheduleState::Active,
            reached: at(seq),
            queued: None,
            last: None,
            trouble: None,
        },
        playbook: "p".to_owned(),
        timing: "every 1m".to_owned(),
        next_at: None,
        updated_at: at(seq),
    };
    let event = ScheduleEvent::Registered { catalog_id: CatalogId(7) };
    let total = SCHEDULE_EVENTS_KEPT + 3;
    for seq in 1..=total {
        let stored = subject.store.record_schedule(&of_schedule(seq), &event).await;
        assert!(stored.expect(SAYS));
    }
    let of_subscription = |id, path: &str, seq, last_event| SubscriptionRow {
        id,
        path: path.to_owned(),
        catalog_id: CatalogId(7),
        seq: Seq(seq),
        last_event,
        updated_at: at(seq),
    };
    for (number, row) in (1..).zip([
        of_subscription(A, "old", 1, SubscriptionEvent::Registered),
        of_subscription(A, "old", 2, SubscriptionEvent::Deactivated),
        of_subscription(B, "live", 1, SubscriptionEvent::Registered),
    ]) {
        assert!(subject.store.record(&row, EventId(9000 + number)).await.expect(SAYS));
    }
    subject.at(0);
    subject.append(start(C)).await.expect("C starts");

    let collect =
        async |horizon: Horizon| subject.records.collect(&horizon, 100).await.expect(SAYS);
    assert_eq!(collect(Horizon::nothing()).await.total(), 0);
    let horizon = Horizon { history: at(3), ..Horizon::nothing() };
    assert_eq!(collect(horizon).await.history, 3, "two events and a subscription");
    let horizon = Horizon { history: at(9_999), ..Horizon::nothing() };
    assert_eq!(collect(horizon).await.history, 1, "the last events are kept");
    assert_eq!(collect(horizon).await.history, 0);
    let left = subject.store.schedule_events("s", Some(Seq(6)), 10).await.expect(SAYS);
    assert_eq!(left.iter().map(|it| it.seq.0).collect::<Vec<_>>(), [5, 4]);
    assert_eq!(subject.store.subscription(A).await.expect(SAYS), None);
    assert_eq!(subject.store.subscription_events(A, Seq::ZERO).await.expect(SAYS), []);
    assert!(subject.store.subscription(B).await.expect(SAYS).is_some());

    let horizon = Horizon { feed: at(1), ..Horizon::nothing() };
    assert_eq!(collect(horizon).await.feed, 1);
    assert_eq!(collect(horizon).await.feed, 0);
    assert_eq!(subject.read(C).await.len(), 1, "the log stays");
}
