//! Tests of opening a database, of damaged rows and of a lost server.

use std::sync::Arc;
use std::time::Duration;

use noetl_model::{ExecutionId, Pool, Seq, StepName, WorkerId};
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::{A, add, after, events_after, lease, start};
use noetl_store::{
    Append, Catalog as _, Clock, EventLog as _, Executions as _, QueueChange, StoreError,
    SystemClock, WorkQueue as _,
};
use noetl_store_postgres::{
    ClusterSettings, OpenError, PgSettings, PgStore, PoolSettings, TimeSource, read_clocks,
};
use noetl_testkit::PostgresServer;

use crate::database::{Database, execute};

async fn append(store: &PgStore, append: Append) {
    assert_eq!(store.append(&[append]).await.expect("the store appends"), [Ok(())]);
}

async fn open_error(database: &Database) -> OpenError {
    let opened = PgStore::connect(database.settings(), TimeSource::Database).await;
    opened.err().expect("the database does not open")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_start_together_take_turns_with_the_schema() {
    let database = Arc::new(Database::empty().await);
    let opening: Vec<_> = (0..4)
        .map(|_| {
            let database = database.clone();
            tokio::spawn(async move { database.open(TestClock::default()).await })
        })
        .collect();
    for opening in opening {
        let store = opening.await.expect("every one of them opens");
        let seen = store.read(A, Seq::ZERO, 10).await.unwrap().len();
        append(&store, events_after(A, Seq(seen as u64), 1)).await;
        store.close().await;
    }
}

/// Returns the difference between a clock and this machine, which also runs the test database.
fn off(clock: &dyn Clock) -> Duration {
    let (here, there) = (SystemClock.now(), clock.now());
    here.since(there).max(there.since(here))
}

#[tokio::test]
async fn the_clock_of_a_store_is_the_databases_and_is_read_with_every_append() {
    let database = Database::migrated().await;
    let store = PgStore::connect(database.settings(), TimeSource::Database).await.unwrap();
    let clock = store.clock();
    assert!(off(&*clock) < Duration::from_secs(5), "it is off by {:?}", off(&*clock));
    for execution in 1..=3 {
        append(&store, start(ExecutionId(execution))).await;
        assert!(off(&*clock) < Duration::from_secs(5), "it is off by {:?}", off(&*clock));
    }
    let times = read_clocks(ClusterSettings::single(database.settings())).await.unwrap();
    assert_eq!(times.len(), 1);
    assert!(times[0].now.since(SystemClock.now()) < Duration::from_secs(5));
}

#[tokio::test]
async fn the_clock_of_the_database_counts_by_default() {
    let database = Database::migrated().await;
    let store = database.open(TestClock::default()).await;
    append(&store, Append { queue: vec![add(1), lease(1, 1, 30)], ..start(A) }).await;
    let (pool, worker) = (Pool::shared(), WorkerId::new("worker-1"));
    assert_eq!(store.ready_count(&pool).await.unwrap(), 0);
    // The test clock is in January 2026, which is in the past for the database's clock.
    let store = PgStore::connect(database.settings(), TimeSource::Database).await.unwrap();
    assert_eq!(store.ready_count(&pool).await.unwrap(), 1);
    assert_eq!(store.exhausted(1, 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.renew(&worker, Duration::from_secs(3600)).await.unwrap(), 1);
    assert_eq!(store.ready_count(&pool).await.unwrap(), 0);
    assert_eq!(store.release(&worker).await.unwrap(), 1);
    assert_eq!(store.ready(&pool, None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let database = Database::own().await;
    let newer = "INSERT INTO noetl.schema_migration
        (version, description, success, checksum, execution_time)
        VALUES (999, 'from the future', TRUE, '', 0)";
    execute(&mut database.connect().await, newer).await;
    let refused = open_error(&database).await;
    assert!(matches!(refused, OpenError::Newer), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_forgets_commits_is_refused() {
    let database = Database::own().await;
    let forget = format!("ALTER DATABASE {} SET synchronous_commit = off", database.name);
    execute(&mut database.connect().await, &forget).await;
    let refused = open_error(&database).await;
    assert!(matches!(refused, OpenError::Forgets), "{refused:?}");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_without_the_password() {
    let database = Database::empty().await;
    let mut settings = database.settings();
    settings.database = settings.database.database("nowhere").password("secret");
    let refused = PgStore::connect(settings, TimeSource::Database).await.err().unwrap();
    let said = format!("{refused} {refused:?}");
    assert!(said.starts_with("cannot connect to the database nowhere at "), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

#[tokio::test]
async fn a_damaged_row_is_named() {
    let database = Database::migrated().await;
    let store = database.open(TestClock::default()).await;
    append(&store, events_after(A, Seq::ZERO, 3)).await;
    let mut connection = database.connect().await;
    execute(&mut connection, "UPDATE noetl.event SET body = '{}' WHERE seq = 2").await;
    execute(&mut connection, "UPDATE noetl.execution SET error = '1'").await;
    let check = |error: StoreError, expected: &str| {
        assert!(matches!(error, StoreError::Corrupt { .. }));
        assert_eq!(error.to_string(), format!("stored data cannot be read: {expected}"));
    };
    let read = store.read(A, Seq::ZERO, 10).await.unwrap_err();
    check(read, "event 2 of execution 1001");
    check(store.summary(A).await.unwrap_err(), "the summary of execution 1001");
    assert_eq!(store.read(A, Seq(2), 10).await.unwrap().len(), 1, "others are not affected");
}

#[tokio::test]
async fn a_name_that_postgres_cannot_hold_spoils_nobodys_batch() {
    let database = Database::migrated().await;
    let store = database.open(TestClock::default()).await;
    let mut odd = start(A);
    odd.summary.current_step = Some(StepName::new("a\0b"));
    let QueueChange::Add { command, pool, priority, is_parked, .. } = add(1) else {
        panic!("it adds")
    };
    odd.queue = vec![QueueChange::Add { command, pool, step: "a\0b".into(), priority, is_parked }];
    append(&store, odd).await;
    let summary = store.summary(A).await.unwrap().unwrap();
    assert_eq!(summary.current_step, Some(StepName::new("a␀b")));
}

#[tokio::test]
async fn a_store_whose_server_went_away_says_so_and_recovers() {
    let database = Database::migrated().await;
    let store = database.open(TestClock::default()).await;
    append(&store, start(A)).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    execute(&mut database.connect().await, end).await;
    let failed = store.append(&[after(A, 1)]).await.expect_err("the connection is gone");
    assert!(matches!(failed, StoreError::Unavailable(_)), "{failed:?}");
    // Each connection of the pool may have to fail once.
    for _ in 0..PoolSettings::default().connections_max {
        if let Ok(answers) = store.append(&[after(A, 1)]).await {
            assert_eq!(answers, [Ok(())]);
            return;
        }
    }
    panic!("the store stays away");
}

#[tokio::test]
async fn a_playbook_is_looked_up_and_a_start_written_right_after_the_connections_were_ended() {
    let database = Database::migrated().await;
    let mut settings = database.settings();
    settings.pool.connections_min = 0;
    let store = PgStore::connect(settings, TimeSource::Database).await.expect("it opens");
    append(&store, start(A)).await;
    assert_eq!(store.by_path("tests/hello", None).await.expect("it is looked up"), None);
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    execute(&mut database.connect().await, end).await;
    assert_eq!(store.by_path("tests/hello", None).await.expect("it is looked up again"), None);
    append(&store, start(ExecutionId(7))).await;
}

/// Checks how many connections a store uses for consecutive appends, with a pool of the given size.
async fn check_writers(connections_max: u32, expected: i64) {
    let database = Database::migrated().await;
    let mut settings = database.settings();
    settings.pool.connections_max = connections_max;
    let opened = PgStore::connect(settings, TimeSource::Database).await;
    let store = opened.expect("the database opens");
    let all_at_once = (0..connections_max).map(|_| store.summary(A));
    futures::future::try_join_all(all_at_once).await.expect("the store answers");
    append(&store, start(A)).await;
    for seq in 1..20 {
        append(&store, after(A, seq)).await;
    }
    let wrote = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%noetl.append_v%'
        AND pid <> pg_backend_pid()";
    let found = sqlx::query_scalar::<_, i64>(wrote).fetch_one(&mut database.connect().await).await;
    assert_eq!(found.expect("the server answers"), expected);
    store.close().await;
    assert!(store.summary(A).await.is_err());
}

#[tokio::test]
async fn batches_that_follow_each_other_are_written_by_one_connection() {
    check_writers(8, 1).await;
}

#[tokio::test]
async fn a_small_pool_has_all_of_its_connections_for_everybody() {
    check_writers(2, 2).await;
}

async fn on(server: &PostgresServer) -> Result<PgStore, OpenError> {
    let database = server.url("postgres").parse().expect("the URL is one");
    let settings = PgSettings { database, pool: PoolSettings::default() };
    PgStore::connect(settings, TimeSource::Database).await
}

#[tokio::test]
async fn an_answered_append_survives_the_crash_of_the_server() {
    let server = PostgresServer::private();
    let store = on(&server).await.expect("the database opens");
    append(&store, events_after(A, Seq::ZERO, 3)).await;
    server.crash();
    let store = on(&server).await.expect("the database opens again");
    assert_eq!(store.read(A, Seq::ZERO, 10).await.unwrap().len(), 3);
    append(&store, after(A, 3)).await;
}

#[tokio::test]
async fn a_standby_is_refused() {
    let server = PostgresServer::private();
    server.become_standby();
    let refused = on(&server).await.err().expect("the database does not open");
    assert!(matches!(refused, OpenError::InRecovery), "{refused:?}");
}
