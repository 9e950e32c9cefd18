//! Tests of deletion beside concurrent writers, in one database and across shards.

use std::sync::Arc;
use std::time::Duration;

use noetl_model::{
    Digest, Event, ExecutionId, ExecutionStatus, ForkPoint, Payload, PayloadRef, Seq,
};
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::{A, B, at, events_after};
use noetl_store::{
    Append, EraseAnswer, EventLog as _, Executions as _, Horizon, KeepMark, KeepReason,
    Records as _, Retention, Tombstone,
};
use sqlx::{PgConnection, query_scalar};
use tokio::task::JoinHandle;

use crate::database::{Database, execute};
use crate::shards;

fn ended(execution: ExecutionId) -> Append {
    let mut append = events_after(execution, Seq::ZERO, 3);
    append.summary.status = ExecutionStatus::Completed;
    append.summary.ended_at = Some(at(3));
    append
}

fn tombstone(append: &Append) -> Tombstone {
    Tombstone::of(&append.summary, at(9), None)
}

/// Waits until some statements of a database wait for a lock, or a task has ended. The connection is in
/// no transaction, within which PostgreSQL would show the same activity again and again.
async fn waiting<T>(connection: &mut PgConnection, count: i64, task: &JoinHandle<T>) {
    let statement = "SELECT count(*) FROM pg_stat_activity
                     WHERE wait_event_type = 'Lock' AND datname = current_database()";
    let looks = async {
        while !task.is_finished() {
            let found: i64 = query_scalar(statement)
                .fetch_one(&mut *connection)
                .await
                .expect("the view can be read");
            if found >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), looks).await.expect("somebody waits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_that_is_being_written_in_another_shard_keeps_its_origin() {
    let (stores, databases) = shards::fresh(TestClock::default()).await;
    let stores = Arc::new(stores);
    // Executions 1 and 2 are in the shards 1 and 0.
    let (origin, fork) = (ExecutionId(1), ExecutionId(2));
    assert_eq!(stores.append(&[ended(origin)]).await.unwrap(), [Ok(())]);
    let mut forked = events_after(fork, Seq(1), 1);
    forked.summary.fork = Some(ForkPoint { execution: origin, seq: Seq(1) });

    let mut connection = databases[0].connect().await;
    let mut other = databases[0].connect().await;
    execute(&mut connection, "BEGIN").await;
    execute(&mut connection, "LOCK TABLE noetl.execution IN SHARE MODE").await;
    let writing = tokio::spawn({
        let stores = stores.clone();
        async move { stores.append(&[forked]).await.unwrap().remove(0) }
    });
    waiting(&mut other, 1, &writing).await;
    let erasing = tokio::spawn({
        let stores = stores.clone();
        async move { stores.erase(origin, &tombstone(&ended(origin))).await.unwrap() }
    });
    waiting(&mut other, 2, &erasing).await;
    execute(&mut connection, "ROLLBACK").await;
    let (written, erased) = (writing.await.unwrap(), erasing.await.unwrap());
    assert_eq!(written, Ok(()));
    assert_eq!(erased, EraseAnswer::Kept(KeepReason::Fork(fork)));
    assert!(stores.summary(origin).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mark_and_a_deletion_at_the_same_time_exclude_each_other() {
    let database = Database::migrated().await;
    let store = database.open(TestClock::default()).await;
    for execution in [A, B] {
        assert_eq!(store.append(&[ended(execution)]).await.unwrap(), [Ok(())]);
    }
    let mark = KeepMark { since: at(1), reason: None, actor: None };
    let mut connection = database.connect().await;
    let find = |execution: ExecutionId, lock: &str| {
        format!("SELECT FROM noetl.execution WHERE execution_id = {} FOR {lock}", execution.0)
    };

    // The mark comes first.
    execute(&mut connection, "BEGIN").await;
    execute(&mut connection, &find(A, "KEY SHARE")).await;
    let put = format!("INSERT INTO noetl.keep_mark (execution_id, body) VALUES ({}, '{{}}')", A.0);
    execute(&mut connection, &put).await;
    let erasing = tokio::spawn({
        let store = store.clone();
        async move { store.erase(A, &tombstone(&ended(A))).await.unwrap() }
    });
    let mut other = database.connect().await;
    waiting(&mut other, 1, &erasing).await;
    execute(&mut connection, "COMMIT").await;
    assert_eq!(erasing.await.unwrap(), EraseAnswer::Kept(KeepReason::Marked));

    // The deletion comes first.
    execute(&mut connection, "BEGIN").await;
    execute(&mut connection, &find(B, "UPDATE")).await;
    let remove = format!("DELETE FROM noetl.execution WHERE execution_id = {}", B.0);
    execute(&mut connection, &remove).await;
    let marking = tokio::spawn({
        let store = store.clone();
        async move { store.put_keep_mark(B, &mark).await.unwrap() }
    });
    waiting(&mut other, 1, &marking).await;
    execute(&mut connection, "COMMIT").await;
    assert!(!marking.await.unwrap(), "it is deleted");
    assert_eq!(store.keep_mark(B).await.unwrap(), None);
}

/// A database of a version that kept no list of references.
#[tokio::test]
async fn payloads_of_old_events_are_released_once_all_their_references_are_stored() {
    let database = Database::own().await;
    let store = database.open(TestClock::default()).await;
    let body = b"[1]".to_vec();
    let digest = Digest::of(&body);
    let refers = |execution| {
        let mut append = ended(execution);
        let output = Payload::Ref(PayloadRef { digest, size: 3 });
        append.events[0].event = Event::ExecutionCompleted { output, actor: None };
        append
    };
    let owner = Append { payloads: vec![(digest, Arc::new(body))], ..refers(A) };
    assert_eq!(store.append(&[owner, refers(B)]).await.unwrap(), [Ok(()), Ok(())]);
    let mut connection = database.connect().await;
    execute(&mut connection, "DELETE FROM noetl.payload_reference").await;
    let later = "UPDATE noetl.reference_start SET execution_id = 9000000000000000000";
    execute(&mut connection, later).await;

    let erased = store.erase(A, &tombstone(&refers(A))).await.unwrap();
    assert_eq!(erased, EraseAnswer::Erased);
    let references = "SELECT count(*) FROM noetl.payload_reference";
    for _ in 0..3 {
        assert_eq!(store.erase_payloads(100).await.unwrap(), 0, "old servers may write");
    }
    let left: i64 = query_scalar(references).fetch_one(&mut connection).await.unwrap();
    assert_eq!(left, 1, "it is looked at later");

    execute(&mut connection, "UPDATE noetl.reference_start SET execution_id = 1000000").await;
    let sweep = async || {
        let mut calls = 0;
        while store.erase_payloads(100).await.unwrap() > 0 {
            calls += 1;
            assert!(calls < 10, "it ends");
        }
        let horizon = Horizon { payloads: at(1_000_000), ..Horizon::nothing() };
        store.collect(&horizon, 100).await.unwrap();
    };
    sweep().await;
    assert!(store.payload(&digest).await.unwrap().is_some(), "B refers to it");
    assert_eq!(store.erase(B, &tombstone(&refers(B))).await.unwrap(), EraseAnswer::Erased);
    sweep().await;
    assert_eq!(store.payload(&digest).await.unwrap(), None);
    let left: i64 = query_scalar(references).fetch_one(&mut connection).await.unwrap();
    assert_eq!(left, 0);
}
