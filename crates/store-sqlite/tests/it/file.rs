//! Tests of the database file: opening, locking, and its content after a crash.

use std::error::Error as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use noetl_model::{
    CommandId, Digest, Event, ExecutionId, ExecutionStatus, Message, Payload, PayloadRef, Pool, Seq,
};
use noetl_store::conformance::given::{A, add, after, events_after, start};
use noetl_store::{
    Append, Bounded, EraseAnswer, EventLog, Executions as _, Outbox as _, OutboxConsumer,
    Retention as _, StoreError, SystemClock, Take, Tombstone, WorkQueue as _, sql,
};
use noetl_store_sqlite::{OpenError, SqliteStore};
use sqlx::{Executor as _, SqliteConnection};

use crate::{connect, fresh_path, open};

async fn append(store: &SqliteStore, append: Append) {
    let answers = store.append(&[append]).await.expect("the store appends");
    assert_eq!(answers, [Ok(())]);
}

async fn seqs(store: &SqliteStore, execution: ExecutionId) -> Vec<u64> {
    let events = store.read(execution, Seq::ZERO, 100).await.expect("the store reads");
    events.iter().map(|recorded| recorded.seq.0).collect()
}

async fn open_error(path: &Path) -> String {
    let served = SqliteStore::open(path, Arc::new(SystemClock)).await;
    said(path, served)
}

async fn read_only_error(path: &Path) -> String {
    said(path, SqliteStore::open_read_only(path).await)
}

fn said(path: &Path, opened: Result<SqliteStore, OpenError>) -> String {
    let error = opened.err().expect("the database does not open");
    error.to_string().replace(&path.display().to_string(), "FILE")
}

#[tokio::test]
async fn an_append_that_is_given_up_does_not_stand_in_the_way_of_the_next() {
    let (path, _keep) = fresh_path();
    let store = open(&path).await;
    for id in 1..=8 {
        let (given_up, next) = ([start(ExecutionId(id))], start(ExecutionId(100 + id)));
        let mut giving_up = store.append(&given_up);
        for _ in 0..id {
            if giving_up.as_mut().now_or_never().is_some() {
                break;
            }
            // Another call to the database gives the append time to progress.
            store.summary(A).await.expect("the store reads");
        }
        drop(giving_up);
        append(&store, next).await;
        assert_eq!(seqs(&store, ExecutionId(100 + id)).await, [1]);
        let kept = seqs(&store, ExecutionId(id)).await;
        assert!(kept.is_empty() || kept == [1], "half of it is kept: {kept:?}");
    }
}

#[tokio::test]
async fn reopening_keeps_everything() {
    let (path, _keep) = fresh_path();
    let store = open(&path).await;
    append(&store, Append { queue: vec![add(1)], ..start(A) }).await;
    drop(store);
    let store = open(&path).await;
    assert_eq!(seqs(&store, A).await, [1]);
    assert_eq!(store.ready_count(&Pool::shared()).await.unwrap(), 1);
    append(&store, after(A, 1)).await;
    assert_eq!(seqs(&store, A).await, [1, 2]);
}

#[tokio::test]
async fn an_answered_append_survives_the_death_of_the_process() {
    const DATABASE: &str = "NOETL_TEST_ABORT_WITH";
    if let Ok(path) = std::env::var(DATABASE) {
        let store = open(Path::new(&path)).await;
        append(&store, events_after(A, Seq::ZERO, 3)).await;
        std::process::abort();
    }
    let (path, _keep) = fresh_path();
    let name = "file::an_answered_append_survives_the_death_of_the_process";
    let died = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(DATABASE, &path)
        .output()
        .unwrap();
    assert!(!died.status.success(), "the process was to die");
    let reader = SqliteStore::open_read_only(&path).await.unwrap();
    assert_eq!(seqs(&reader, A).await, [1, 2, 3], "readers see it before anybody serves again");
    assert_eq!(seqs(&open(&path).await, A).await, [1, 2, 3]);
}

#[tokio::test]
async fn messages_held_by_a_killed_process_are_ready_for_the_next_one_at_once() {
    let (path, _keep) = fresh_path();
    let store = open(&path).await;
    let outbox = vec![Message::CommandCancelled { command: CommandId(1) }];
    append(&store, Append { outbox, ..start(A) }).await;
    let take = async |store: &SqliteStore| {
        let take =
            Take { consumer: OutboxConsumer::Relay, limit: 10, hold: Duration::from_secs(60) };
        let rows = store.take(take).await.expect("the store takes");
        rows.iter().map(|row| row.attempts).collect::<Vec<u32>>()
    };
    assert_eq!(take(&store).await, [1]);
    assert_eq!(take(&store).await, [0; 0], "somebody is sending it");
    drop(store);
    assert_eq!(take(&open(&path).await).await, [2]);
}

#[tokio::test]
async fn the_lock_of_a_process_that_is_about_to_go_is_waited_for() {
    let (path, _keep) = fresh_path();
    let store = open(&path).await;
    let (next, ()) = tokio::join!(open(&path), async {
        tokio::task::yield_now().await;
        drop(store);
    });
    append(&next, start(A)).await;
}

#[tokio::test]
async fn one_process_serves_and_others_read() {
    let (path, _keep) = fresh_path();
    let store = open(&path).await;
    append(&store, start(A)).await;
    assert_eq!(open_error(&path).await, "another noetl process is already serving FILE");

    let reader = SqliteStore::open_read_only(&path).await.unwrap();
    assert_eq!(seqs(&reader, A).await, [1]);
    append(&store, after(A, 1)).await;
    assert_eq!(seqs(&reader, A).await, [1, 2], "a reader sees what is committed later");
    assert_eq!(reader.summary(A).await.unwrap().map(|summary| summary.seq), Some(Seq(2)));

    let refused = reader.append(&[after(A, 2)]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)));
    assert_eq!(refused.source().unwrap().to_string(), "the store was opened for reading only");
    assert!(reader.sent(&[1]).await.is_err());
}

#[tokio::test]
async fn a_database_nobody_serves_can_be_read_and_is_left_as_it_is() {
    let (path, _keep) = fresh_path();
    append(&open(&path).await, start(A)).await;
    let mut connection = connect(&path).await;
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await.unwrap();
    drop(connection);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(seqs(&SqliteStore::open_read_only(&path).await.unwrap(), A).await, [1]);
    assert!(std::fs::read(&path).unwrap() == bytes, "reading changes nothing");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let (path, _keep) = fresh_path();
    let text = "name: not a database\n".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert_eq!(open_error(&path).await, "FILE is not a noetl database");
    assert_eq!(read_only_error(&path).await, "FILE is not a noetl database");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn the_database_of_another_program_is_refused_and_left_alone() {
    let (path, _keep) = fresh_path();
    std::fs::write(&path, b"").unwrap();
    let mut connection = connect(&path).await;
    connection.execute("CREATE TABLE theirs (a)").await.unwrap();
    drop(connection);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(open_error(&path).await, "FILE is not a noetl database");
    assert_eq!(read_only_error(&path).await, "FILE is not a noetl database");
    assert!(std::fs::read(&path).unwrap() == bytes, "nothing was written to it");
}

/// Leaves a database whose process died in the middle of a change, with the journal to undo it.
async fn interrupted(path: &Path, before: &'static str) {
    let (scratch, _keep) = fresh_path();
    std::fs::write(&scratch, b"").expect("the scratch file is written");
    let mut connection = connect(&scratch).await;
    connection.execute(before).await.expect("the state before is written");
    let change = "PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (a); \
                  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) \
                  INSERT INTO half SELECT randomblob(5000) FROM n";
    connection.execute(change).await.expect("the change begins");
    for suffix in ["", "-journal"] {
        let of = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(of(&scratch), of(path)).expect("the file is copied");
    }
}

#[tokio::test]
async fn a_database_whose_creation_was_interrupted_is_created_again() {
    let (path, _keep) = fresh_path();
    interrupted(&path, "PRAGMA user_version").await;
    let told = "a change of FILE was interrupted; it has to be served once";
    assert_eq!(read_only_error(&path).await, told);
    append(&open(&path).await, start(A)).await;
    assert_eq!(seqs(&SqliteStore::open_read_only(&path).await.unwrap(), A).await, [1]);
}

#[tokio::test]
async fn the_interrupted_database_of_another_program_is_refused() {
    let (path, _keep) = fresh_path();
    interrupted(&path, "CREATE TABLE theirs (a)").await;
    assert_eq!(open_error(&path).await, "FILE is not a noetl database");
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let (path, _keep) = fresh_path();
    drop(open(&path).await);
    let mut connection = connect(&path).await;
    let newer =
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (999, 'from the future', TRUE, x'', 0)";
    connection.execute(newer).await.unwrap();
    assert_eq!(open_error(&path).await, "FILE was written by a newer version of noetl");
    assert_eq!(read_only_error(&path).await, "FILE was written by a newer version of noetl");
}

#[tokio::test]
async fn a_database_that_is_not_there_cannot_be_read() {
    let (path, _keep) = fresh_path();
    assert_eq!(read_only_error(&path).await, "there is no database at FILE");
    let nowhere = path.join("deeper").join("noetl.db");
    let opened = SqliteStore::open(&nowhere, Arc::new(SystemClock)).await;
    assert!(matches!(opened.err(), Some(OpenError::Lock { .. })));
}

#[tokio::test]
async fn a_damaged_row_is_named() {
    let (path, _keep) = fresh_path();
    let store = open(&path).await;
    append(&store, events_after(A, Seq::ZERO, 3)).await;
    let mut connection = connect(&path).await;
    damage(&mut connection, "UPDATE event SET body = '{\"type\":' WHERE seq = 2").await;
    damage(&mut connection, "UPDATE execution SET error = 'x'").await;
    let check = |error: StoreError, expected: &str| {
        assert!(matches!(error, StoreError::Corrupt { .. }));
        assert_eq!(error.to_string(), format!("stored data cannot be read: {expected}"));
    };
    let read = store.read(A, Seq::ZERO, 10).await.unwrap_err();
    check(read, "event 2 of execution 1001");
    check(store.summary(A).await.unwrap_err(), "the summary of execution 1001");
    assert_eq!(store.read(A, Seq(2), 10).await.unwrap().len(), 1, "others are not affected");
}

async fn damage(connection: &mut SqliteConnection, statement: &'static str) {
    let changed = connection.execute(statement).await.expect("the file is written to");
    assert_eq!(changed.rows_affected(), 1);
}

#[tokio::test]
async fn other_users_can_open_no_file_of_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("noetl.db");
    let modes = || {
        let mut modes: Vec<(String, u32)> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                (entry.file_name().into_string().unwrap(), mode)
            })
            .collect();
        modes.sort();
        modes
    };
    let names = ["noetl.db", "noetl.db-shm", "noetl.db-wal", "noetl.db.lock"];
    let private: Vec<(String, u32)> = names.map(|name| (name.to_owned(), 0o600)).into();
    let store = SqliteStore::open(&path, Arc::new(SystemClock)).await.unwrap();
    assert_eq!(store.append(&[start(A)]).await.unwrap(), [Ok(())]);
    assert_eq!(modes(), private);
    for name in names {
        let file = directory.path().join(name);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    drop(store);
    let store = SqliteStore::open(&path, Arc::new(SystemClock)).await.unwrap();
    assert_eq!(store.read(A, Seq::ZERO, 10).await.unwrap().len(), 1);
    assert!(modes().iter().all(|(_, mode)| *mode == 0o600), "{:?}", modes());
}

#[tokio::test]
async fn a_database_that_another_process_has_locked_ends_a_call_at_its_deadline() {
    let deadline = Duration::from_millis(300);
    let (path, _keep) = fresh_path();
    let store = Bounded::new(Arc::new(open(&path).await), deadline);
    let mut other = connect(&path).await;
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let error = store.append(&[start(A)]).await.unwrap_err();
    assert!(matches!(error, StoreError::TimedOut { .. }), "{error:?}");
    assert!(store.summary(A).await.unwrap().is_none(), "it can be read meanwhile");
    other.execute("ROLLBACK").await.unwrap();
    let appended = async {
        // A dropped append may have been written.
        while store.summary(A).await.ok().flatten().is_none() {
            drop(store.append(&[start(A)]).await);
        }
    };
    tokio::time::timeout(Duration::from_secs(30), appended).await.expect("it goes on");
    assert_eq!(store.read(A, Seq::ZERO, 10).await.unwrap().len(), 1);
}

/// Two databases are two shards; the second one refuses to write the first time.
#[tokio::test]
async fn payloads_are_released_everywhere_before_their_references_go() {
    let ((path, _keep), (other_path, _keep_other)) = (fresh_path(), fresh_path());
    let digest = Digest::of(b"[1]");
    let store = open(&path).await;
    let mut refers = events_after(A, Seq::ZERO, 2);
    refers.summary.status = ExecutionStatus::Completed;
    let output = Payload::Ref(PayloadRef { digest, size: 3 });
    refers.events[0].event = Event::ExecutionCompleted { output, actor: None };
    append(&store, refers).await;
    let summary = store.summary(A).await.unwrap().expect("it is stored");
    let tombstone = Tombstone::of(&summary, summary.started_at, None);
    assert_eq!(store.erase(A, &tombstone).await.unwrap(), EraseAnswer::Erased);

    drop(open(&other_path).await);
    let mut other = connect(&other_path).await;
    let payload = sqlx::query("INSERT INTO payload (digest, body) VALUES (?, x'5b315d')");
    payload.bind(&digest.as_bytes()[..]).execute(&mut other).await.unwrap();
    let refusing = SqliteStore::open_read_only(&other_path).await.expect("it opens");
    assert!(sql::erase_payloads_in(&[&store, &refusing], 10).await.is_err());
    let writing = open(&other_path).await;
    assert_eq!(sql::erase_payloads_in(&[&store, &writing], 10).await.unwrap(), 1);
    let loose: i64 =
        sqlx::query_scalar("SELECT count(*) FROM payload WHERE loose_since IS NOT NULL")
            .fetch_one(&mut other)
            .await
            .unwrap();
    assert_eq!(loose, 1, "the payload of the other database stays for ever");
}
