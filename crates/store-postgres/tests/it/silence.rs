//! Tests with a database that does not answer: every call ends at its deadline, and the store
//! recovers without a restart.

use std::sync::Arc;
use std::time::Duration;

use noetl_model::{ExecutionId, Pool, Seq, shard_of};
use noetl_store::conformance::TestClock;
use noetl_store::conformance::given::{A, start};
use noetl_store::{
    Bounded, Catalog as _, EventLog as _, ExecutionFilter, Executions as _, Page, StoreError,
    WorkQueue as _,
};
use noetl_store_postgres::{
    ClusterSettings, PgSettings, PgStore, PoolSettings, Shards, TimeSource,
};
use noetl_testkit::{PostgresServer, Proxy};
use tokio::time::{Instant, timeout};

use crate::database::{Database, answer, execute};

const DEADLINE: Duration = Duration::from_secs(2);
/// The test timeout: longer than any call may take, and shorter than the operating system's
/// connection timeout.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of appends whose connection is closed.
const CUTS: u32 = 500;
/// The most times that an append is polled before its connection is closed.
const CUT_AFTER_MAX: u32 = 400;

/// Opens a store over databases behind proxies.
async fn open(databases: &[Database], proxies: &[Proxy]) -> Bounded<Shards> {
    let server = PostgresServer::shared();
    let urls = databases.iter().zip(proxies);
    let urls: Vec<String> =
        urls.map(|(database, proxy)| server.url_through(proxy, &database.name)).collect();
    let settings = ClusterSettings::from_env(|name| match name {
        "NOETL_SHARDS" => Some(urls.join(",")),
        "NOETL_STORE_TIMEOUT_SECONDS" => Some(DEADLINE.as_secs().to_string()),
        _ => None,
    });
    let settings = settings.expect("the settings are right");
    let shards = Shards::connect(settings, TimeSource::Database).await.expect("the shards open");
    Bounded::new(Arc::new(shards), DEADLINE)
}

async fn databases(count: usize) -> (Vec<Database>, Vec<Proxy>) {
    let (mut databases, mut proxies) = (Vec::new(), Vec::new());
    for _ in 0..count {
        databases.push(Database::migrated().await);
        proxies.push(Proxy::to(&PostgresServer::shared().socket()).await);
    }
    (databases, proxies)
}

fn is_late<T>(answer: Result<T, StoreError>) -> bool {
    matches!(
        answer,
        Err(StoreError::TimedOut { .. }
            | StoreError::OutOfReach { .. }
            | StoreError::Unavailable(_))
    )
}

/// Repeats an append until it succeeds, like a caller with an unknown outcome.
async fn appended(store: &Bounded<Shards>, execution: ExecutionId) {
    let repeated = async {
        loop {
            match store.append(&[start(execution)]).await.as_deref() {
                Ok([Ok(())]) => break,
                // A timed-out append may have been written.
                Ok([Err(_)]) => {
                    let written = store.read(execution, Seq::ZERO, 1).await;
                    if written.is_ok_and(|events| !events.is_empty()) {
                        break;
                    }
                }
                Ok(_) | Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    timeout(PATIENCE, repeated).await.expect("the store comes back");
}

#[tokio::test]
async fn every_call_to_a_silent_database_ends_at_its_deadline() {
    let (databases, proxies) = databases(1).await;
    let store = open(&databases, &proxies).await;
    appended(&store, A).await;
    proxies[0].silence();
    let begun = Instant::now();
    let (pool, filter) = (Pool::shared(), ExecutionFilter::default());
    let page = Page { before: None, limit: 10 };
    let calls = async {
        tokio::join!(
            async { is_late(store.ready_count(&pool).await) },
            async { is_late(store.list(&filter, page).await) },
            async { is_late(store.by_path("tests/hello", None).await) },
            async { is_late(store.read(A, Seq::ZERO, 10).await) },
            async { is_late(store.append(&[start(ExecutionId(7))]).await) },
        )
    };
    let late = timeout(PATIENCE, calls).await.expect("every call ends");
    assert_eq!(late, (true, true, true, true, true));
    assert!(begun.elapsed() < 2 * DEADLINE, "{:?}", begun.elapsed());
    proxies[0].resume();
    appended(&store, ExecutionId(7)).await;
    assert_eq!(store.read(ExecutionId(7), Seq::ZERO, 10).await.expect("it reads").len(), 1);
}

#[tokio::test]
async fn connections_whose_packets_are_lost_are_replaced_within_seconds() {
    let (databases, proxies) = databases(1).await;
    let store = open(&databases, &proxies).await;
    let pool = Pool::shared();
    // All connections of the pool are opened, and then lost at once.
    let opened = futures::future::join_all((0..20).map(|_| store.ready_count(&pool)));
    assert!(opened.await.iter().all(Result::is_ok));
    appended(&store, A).await;
    proxies[0].lose_connections();
    appended(&store, ExecutionId(8)).await;
    let all_work = async {
        while !futures::future::join_all((0..20).map(|_| store.ready_count(&pool)))
            .await
            .iter()
            .all(Result::is_ok)
        {}
    };
    timeout(PATIENCE, all_work).await.expect("no connection of the pool stays lost");
}

/// Closes the connection at another moment of each append, so also while the commit is on its way.
#[tokio::test]
async fn an_append_whose_connection_is_cut_has_one_effect() {
    let (databases, proxies) = databases(1).await;
    let store = open(&databases, &proxies).await;
    let mut unanswered = 0;
    for round in 1..=CUTS {
        let execution = ExecutionId(i64::from(round));
        let cut = async {
            for _ in 0..round % CUT_AFTER_MAX {
                tokio::task::yield_now().await;
            }
            proxies[0].reset_connections();
        };
        let batch = [start(execution)];
        let (answer, ()) = tokio::join!(store.append(&batch), cut);
        if !matches!(answer.as_deref(), Ok([Ok(())])) {
            unanswered += 1;
            appended(&store, execution).await;
        }
        let log = timeout(PATIENCE, async {
            loop {
                if let Ok(log) = store.read(execution, Seq::ZERO, 10).await {
                    break log;
                }
            }
        });
        assert_eq!(log.await.expect("the store comes back").len(), 1, "round {round}");
    }
    assert!(unanswered > CUTS / 10, "only {unanswered} of {CUTS} appends were cut");
}

/// Returns a store whose connections were all used by `calls` concurrent calls and then lost.
async fn lost(database: &Database, proxy: &Proxy, calls: usize) -> Bounded<PgStore> {
    let url = PostgresServer::shared().url_through(proxy, &database.name);
    let pool = PoolSettings { connections_min: 0, ..PoolSettings::default() };
    let settings = PgSettings { database: url.parse().expect("it is a URL"), pool };
    let store = PgStore::connect(settings, TimeSource::Database).await.expect("it opens");
    let store = Arc::new(store);
    let hasty = Bounded::new(store.clone(), DEADLINE);
    let opened = (0..calls).map(|_| hasty.by_path("tests/hello", None));
    let opened = futures::future::join_all(opened).await;
    assert!(opened.iter().all(Result::is_ok));
    proxy.lose_connections();
    // The first call uses a recently used connection without a ping.
    assert!(is_late(hasty.by_path("tests/hello", None).await));
    // Each connection of the pool may take a second to be found dead.
    Bounded::new(store, PoolSettings::default().deadline)
}

#[tokio::test]
async fn kept_connections_that_have_lain_idle_and_are_lost_cost_a_lookup_no_deadline() {
    let (databases, proxies) = databases(1).await;
    let store = lost(&databases[0], &proxies[0], 3).await;
    assert_eq!(store.by_path("tests/hello", None).await.expect("it is looked up"), None);
    assert_eq!(store.append(&[start(A)]).await.expect("it is written"), [Ok(())]);
}

#[tokio::test]
async fn kept_connections_that_have_lain_idle_and_are_lost_cost_an_append_no_deadline() {
    let (databases, proxies) = databases(1).await;
    let store = lost(&databases[0], &proxies[0], 3).await;
    assert_eq!(store.append(&[start(A)]).await.expect("it is written"), [Ok(())]);
}

#[tokio::test]
async fn a_locked_table_ends_its_calls_and_the_database_gives_them_up() {
    let (databases, proxies) = databases(1).await;
    let store = open(&databases, &proxies).await;
    let mut other = databases[0].connect().await;
    execute(&mut other, "BEGIN; LOCK TABLE noetl.command IN ACCESS EXCLUSIVE MODE").await;
    let pool = Pool::shared();
    let call = timeout(PATIENCE, store.ready_count(&pool)).await;
    assert!(is_late(call.expect("the call ends")));
    let filter = ExecutionFilter::default();
    store.list(&filter, Page { before: None, limit: 1 }).await.expect("others are not affected");
    let left = format!(
        "SELECT count(*) = 0 FROM pg_stat_activity
         WHERE datname = '{}' AND state = 'active' AND wait_event_type = 'Lock'",
        databases[0].name
    );
    let given_up = async {
        while !answer(&mut other, &left).await {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, given_up).await.expect("no statement waits for ever");
    execute(&mut other, "ROLLBACK").await;
    assert_eq!(store.ready_count(&pool).await.expect("it counts"), 0);
}

#[tokio::test]
async fn one_silent_shard_of_several_stops_its_own_executions_only() {
    let (databases, proxies) = databases(2).await;
    let store = open(&databases, &proxies).await;
    let of = |shard| (1..).map(ExecutionId).find(|id| shard_of(*id, 2) == shard).expect("one is");
    let (here, there) = (of(0), of(1));
    appended(&store, here).await;
    appended(&store, there).await;
    proxies[1].silence();
    assert!(is_late(timeout(PATIENCE, store.summary(there)).await.expect("the call ends")));
    assert!(store.summary(here).await.expect("it is there").is_some());
    let away = async {
        while !matches!(store.summary(there).await, Err(StoreError::OutOfReach { .. })) {}
    };
    timeout(PATIENCE, away).await.expect("the shard is found to be away");
    let error = store.summary(there).await.unwrap_err();
    assert_eq!(error.to_string(), "shard 1 is out of reach");
    proxies[1].resume();
    let back = async { while store.summary(there).await.is_err() {} };
    timeout(PATIENCE, back).await.expect("the shard comes back");
}

/// Everything is late by 100 ms in both directions, and every three seconds all connections are reset.
#[tokio::test]
async fn a_database_whose_packets_are_late_or_lost_is_slow_and_loses_nothing() {
    let (databases, proxies) = databases(1).await;
    let store = open(&databases, &proxies).await;
    proxies[0].delay(Duration::from_millis(100));
    let writers = (0..4_i64).map(|writer| {
        let store = &store;
        async move {
            for number in 1..=4 {
                appended(store, ExecutionId(writer * 100 + number)).await;
            }
        }
    });
    let resets = async {
        loop {
            tokio::time::sleep(Duration::from_secs(3)).await;
            proxies[0].reset_connections();
        }
    };
    tokio::select! {
        done = timeout(PATIENCE, futures::future::join_all(writers)) => {
            assert!(done.is_ok(), "the writers do not end");
        }
        () = resets => {}
    }
    proxies[0].resume();
    let direct = databases[0].open(TestClock::default()).await;
    for execution in (0..4).flat_map(|writer| (1..=4).map(move |n| ExecutionId(writer * 100 + n))) {
        assert_eq!(direct.read(execution, Seq::ZERO, 10).await.expect("it reads").len(), 1);
    }
    let pool = Pool::shared();
    let calls = futures::future::join_all((0..20).map(|_| store.ready_count(&pool)));
    let answers = timeout(PATIENCE, calls).await.expect("every call ends");
    assert!(answers.iter().filter(|it| it.is_ok()).count() > 10, "the pool is usable: {answers:?}");
}
