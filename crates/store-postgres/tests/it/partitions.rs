//! Tests of partitions: created ahead of time, and dropped as whole months.

use std::sync::Arc;
use std::time::{Duration, Instant};

use noetl_model::{
    Digest, Event, EventId, ExecutionId, ExecutionStatus, ForkPoint, Payload, PayloadRef, Seq,
    Timestamp,
};
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::{at, events_after};
use noetl_store::{
    Append, AppendError, EraseAnswer, EventLog as _, Executions as _, Horizon, KeepReason,
    Records as _, Retention as _, Snapshot, Tombstone,
};
use noetl_store_postgres::PgStore;
use sqlx::{PgConnection, query_scalar};

use crate::database::{Database, execute};

const DAY: u64 = 24 * 60 * 60;
/// The first days of the following months, counted from the start of the tests.
const FEBRUARY: u64 = 31;
const MARCH: u64 = 59;
const APRIL: u64 = 90;

fn day(day: u64) -> Timestamp {
    at(day * DAY)
}

/// Returns the first id of a day; ids are milliseconds since 2024 above 22 bits.
fn id_on(number: u64) -> i64 {
    (day(number).as_millis() - 1_704_067_200_000) << 22
}

/// Returns an execution that starts on a day and has an event five days later.
fn started_on(number: u64, status: ExecutionStatus) -> Append {
    let mut append = events_after(ExecutionId(id_on(number)), Seq::ZERO, 2);
    append.events[0].event_id = EventId(id_on(number) + 1);
    append.events[1].event_id = EventId(id_on(number + 5) + 1);
    append.summary.status = status;
    append
}

async fn open() -> (PgStore, Database) {
    let database = Database::own().await;
    (database.open(TestClock::default()).await, database)
}

async fn append(store: &PgStore, append: Append) {
    assert_eq!(store.append(&[append]).await.expect("the store appends"), [Ok(())]);
}

async fn count(connection: &mut PgConnection, statement: &'static str) -> i64 {
    query_scalar(statement).fetch_one(connection).await.expect("the server answers")
}

const EVENT_MONTHS: &str = "SELECT count(*) FROM noetl.months_of('event')";
const PLACE_MONTHS: &str = "SELECT count(*) FROM noetl.months_of('event_place')";
const ASTRAY: &str = "SELECT (SELECT count(*) FROM noetl.event_default)
    + (SELECT count(*) FROM noetl.execution_default)
    + (SELECT count(*) FROM noetl.event_place_default)";

#[tokio::test]
async fn rows_of_this_month_the_last_and_the_next_have_their_partition() {
    let (store, database) = open().await;
    let mut connection = database.connect().await;
    for number in [0, FEBRUARY - 1, FEBRUARY, MARCH, APRIL - 10] {
        append(&store, started_on(number, ExecutionStatus::Running)).await;
    }
    assert_eq!(count(&mut connection, ASTRAY).await, 0);
    assert_eq!(count(&mut connection, "SELECT count(*) FROM noetl.event_2026_02").await, 2);
    let december = Append { ..events_after(ExecutionId(id_on(0) - 1), Seq::ZERO, 1) };
    append(&store, december).await;
    assert_eq!(count(&mut connection, "SELECT count(*) FROM noetl.event_2025_12").await, 1);
}

#[tokio::test]
async fn upkeep_makes_what_is_missing_and_nothing_twice() {
    let (store, database) = open().await;
    let mut connection = database.connect().await;
    assert_eq!(store.upkeep(day(0)).await.unwrap(), 0);
    assert_eq!(count(&mut connection, EVENT_MONTHS).await, 4);
    let tables = count(&mut connection, "SELECT count(*) FROM noetl.partitioned").await;
    let made = store.upkeep(day(FEBRUARY)).await.unwrap();
    assert_eq!(i64::from(made), tables, "one month of each table");
    assert_eq!(store.upkeep(day(0)).await.unwrap(), 0);
    assert_eq!(count(&mut connection, EVENT_MONTHS).await, 5);
}

#[tokio::test]
async fn events_stored_before_their_partition_existed_move_into_it() {
    let (store, database) = open().await;
    let mut connection = database.connect().await;
    let late = started_on(APRIL + 3, ExecutionStatus::Running);
    append(&store, late.clone()).await;
    assert_eq!(count(&mut connection, ASTRAY).await, 5);
    store.upkeep(day(MARCH)).await.unwrap();
    assert_eq!(count(&mut connection, ASTRAY).await, 0);
    assert_eq!(store.read(late.execution, Seq::ZERO, 10).await.unwrap(), late.events);
    assert_eq!(store.append(&[late]).await.unwrap(), [Err(AppendError::Conflict)]);
}

/// Deletes an ended execution, its references to payloads, and nothing else yet.
async fn erase(store: &PgStore, execution: ExecutionId) -> EraseAnswer {
    let summary =
        store.summary(execution).await.expect("the database answers").expect("it is stored");
    let tombstone = Tombstone::of(&summary, day(APRIL), None);
    let answer = store.erase(execution, &tombstone).await.expect("the database answers");
    while store.erase_payloads(100).await.expect("the database answers") > 0 {}
    answer
}

#[tokio::test]
async fn expired_months_leave_with_all_that_was_started_in_them() {
    let (store, _keep) = open().await;
    let old = started_on(FEBRUARY - 2, ExecutionStatus::Completed);
    let young = started_on(FEBRUARY, ExecutionStatus::Completed);
    for execution in [&old, &young] {
        append(&store, execution.clone()).await;
        let snapshot = Snapshot { seq: Seq(2), shape: 1, body: vec![1] };
        store.save(execution.execution, &snapshot).await.unwrap();
    }
    assert_eq!(store.drop_expired(day(FEBRUARY)).await.unwrap(), ["2025_12"]);
    assert_eq!(store.summary(old.execution).await.unwrap(), Some(old.summary.clone()));
    assert_eq!(erase(&store, old.execution).await, EraseAnswer::Erased);
    assert_eq!(store.drop_expired(day(FEBRUARY - 1)).await.unwrap(), [""; 0]);
    assert_eq!(store.drop_expired(day(FEBRUARY)).await.unwrap(), ["2026_01"]);
    assert_eq!(store.summary(old.execution).await.unwrap(), None);
    assert_eq!(store.latest(old.execution).await.unwrap(), None);
    assert_eq!(store.read(old.execution, Seq::ZERO, 10).await.unwrap(), []);
    assert_eq!(store.find(old.events[1].event_id).await.unwrap(), None);
    assert!(store.tombstone(old.execution).await.unwrap().is_some());

    assert_eq!(store.read(young.execution, Seq::ZERO, 10).await.unwrap(), young.events);
    let found = store.find(young.events[0].event_id).await.unwrap();
    assert_eq!(found, Some((young.execution, young.events[0].clone())));
}

/// A running execution, the origin of a fork, and the owner of a payload that another one refers to.
#[tokio::test]
async fn a_month_with_something_that_is_kept_stays_whole() {
    let (store, database) = open().await;
    let mut connection = database.connect().await;
    let running = started_on(FEBRUARY - 2, ExecutionStatus::Running);
    let origin = started_on(FEBRUARY, ExecutionStatus::Failed);
    append(&store, running.clone()).await;
    append(&store, origin.clone()).await;
    let mut fork = events_after(ExecutionId(id_on(MARCH)), Seq(1), 1);
    fork.events[0].event_id = EventId(id_on(MARCH) + 1);
    fork.summary.status = ExecutionStatus::Completed;
    fork.summary.fork = Some(ForkPoint { execution: origin.execution, seq: Seq(1) });
    append(&store, fork.clone()).await;
    let kept = EraseAnswer::Kept(KeepReason::Fork(fork.execution));
    assert_eq!(erase(&store, origin.execution).await, kept);
    assert_eq!(store.drop_expired(day(APRIL)).await.unwrap(), ["2025_12"]);
    assert_eq!(store.read(fork.execution, Seq::ZERO, 10).await.unwrap().len(), 2);
    // The second event has an id of February.
    assert_eq!(store.find(running.events[1].event_id).await.unwrap().unwrap().0, running.execution);

    assert_eq!(erase(&store, fork.execution).await, EraseAnswer::Erased);
    assert_eq!(erase(&store, origin.execution).await, EraseAnswer::Erased);
    assert_eq!(store.drop_expired(day(APRIL)).await.unwrap(), ["2026_02", "2026_03"]);
    let mut end = events_after(running.execution, Seq(2), 1);
    end.events[0].event_id = EventId(id_on(MARCH) + 7);
    end.summary.status = ExecutionStatus::Completed;
    append(&store, end).await;
    assert_eq!(count(&mut connection, PLACE_MONTHS).await, 3);
    assert_eq!(erase(&store, running.execution).await, EraseAnswer::Erased);
    assert_eq!(store.drop_expired(day(APRIL)).await.unwrap(), ["2026_01"]);
    while store.erase_rows(100).await.unwrap() > 0 {}
    assert_eq!(store.find(running.events[1].event_id).await.unwrap(), None);
}

#[tokio::test]
async fn a_month_with_a_payload_that_another_execution_refers_to_stays() {
    let (store, _keep) = open().await;
    let body = b"[1]".to_vec();
    let digest = Digest::of(&body);
    let refers = |mut append: Append| {
        let reference = PayloadRef { digest, size: 3 };
        append.events[0].event =
            Event::ExecutionCompleted { output: Payload::Ref(reference), actor: None };
        append
    };
    let owner = refers(started_on(3, ExecutionStatus::Completed));
    let owner = Append { payloads: vec![(digest, Arc::new(body))], ..owner };
    let user = refers(started_on(MARCH, ExecutionStatus::Completed));
    append(&store, owner.clone()).await;
    append(&store, user.clone()).await;
    assert_eq!(erase(&store, owner.execution).await, EraseAnswer::Erased);
    assert_eq!(store.drop_expired(day(FEBRUARY)).await.unwrap(), ["2025_12"]);
    assert!(store.payload(&digest).await.unwrap().is_some());
    assert_eq!(erase(&store, user.execution).await, EraseAnswer::Erased);
    let horizon = Horizon { payloads: day(APRIL), ..Horizon::nothing() };
    store.collect(&horizon, 100).await.unwrap();
    assert_eq!(store.payload(&digest).await.unwrap(), None);
    assert_eq!(store.drop_expired(day(FEBRUARY)).await.unwrap(), ["2026_01"]);
}

/// A reader of the table keeps the month; appends behind the waiting change go on within a second.
#[tokio::test]
async fn a_month_whose_tables_are_in_use_is_dropped_later_and_blocks_nobody() {
    let (store, database) = open().await;
    let mut reader = database.connect().await;
    execute(&mut reader, "BEGIN").await;
    execute(&mut reader, "SELECT count(*) FROM noetl.event").await;
    let slowest = async {
        let mut slowest = Duration::ZERO;
        for number in 0..20 {
            let mut next = started_on(1, ExecutionStatus::Running);
            next.execution = ExecutionId(id_on(2) + number);
            next.summary.execution = next.execution;
            for (place, event) in (1..).zip(&mut next.events) {
                event.event_id = EventId(id_on(2) + 100 * (number + 1) + place);
            }
            let asked = Instant::now();
            append(&store, next).await;
            slowest = slowest.max(asked.elapsed());
        }
        slowest
    };
    let (dropped, slowest) = tokio::join!(store.drop_expired(day(0)), slowest);
    assert_eq!(dropped.unwrap(), [""; 0]);
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    execute(&mut reader, "COMMIT").await;
    assert_eq!(store.drop_expired(day(0)).await.unwrap(), ["2025_12"]);
}
