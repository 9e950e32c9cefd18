//! Tests of machine numbers.

use std::time::{Duration, Instant};

use expect_test::expect;
use noetl_store_postgres::{ClaimError, ClusterSettings, MACHINES_MAX, Shards, TimeSource};
use noetl_testkit::PostgresServer;
use sqlx::{Connection as _, PgConnection, query_scalar};
use tokio::sync::mpsc;

use crate::database::{Database, execute};

/// Ends the sessions that hold a number.
const END_HOLDERS: &str = "SELECT pg_terminate_backend(pid)
    FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE locktype = 'advisory' AND objsubid = 2 AND datname = current_database()";

/// Selects true if a session holds a number.
const IS_HELD: &str = "SELECT EXISTS (SELECT 1
    FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE locktype = 'advisory' AND objsubid = 2 AND datname = current_database() AND objid = $1)";

/// Waits until no session holds the number seven.
async fn await_release(database: &Database) {
    let mut looking = database.connect().await;
    while is_held(&mut looking, 7).await {}
}

async fn await_lock(looking: &mut PgConnection, number: i64) {
    while !is_held(looking, number).await {
        tokio::task::yield_now().await;
    }
}

async fn is_held(looking: &mut PgConnection, number: i64) -> bool {
    query_scalar(IS_HELD).bind(number).fetch_one(looking).await.expect("the server answers")
}

async fn server(database: &Database) -> Shards {
    on(&PostgresServer::shared().url(&database.name)).await
}

async fn on(url: &str) -> Shards {
    let settings = ClusterSettings::from_env(|name| match name {
        "DATABASE_URL" => Some(url.to_owned()),
        "POSTGRES_MIN_CONNECTIONS" => Some("0".to_owned()),
        _ => None,
    });
    let settings = settings.expect("the settings are right");
    Shards::connect(settings, TimeSource::Database).await.expect("the database opens")
}

#[tokio::test]
async fn servers_that_prefer_the_same_number_get_different_ones() {
    let database = Database::migrated().await;
    let (one, other) = (server(&database).await, server(&database).await);
    let first = one.claim_machine(7).await.unwrap();
    let second = other.claim_machine(7).await.unwrap();
    let third = one.claim_machine(7).await.unwrap();
    assert_eq!([&first, &second, &third].map(|claim| claim.number()), [7, 8, 9]);
}

#[tokio::test]
async fn after_the_highest_number_comes_the_lowest() {
    let database = Database::migrated().await;
    let server = server(&database).await;
    let highest = server.claim_machine(MACHINES_MAX - 1).await.unwrap();
    let lowest = server.claim_machine(MACHINES_MAX - 1).await.unwrap();
    assert_eq!([highest.number(), lowest.number()], [MACHINES_MAX - 1, 0]);
}

#[tokio::test]
async fn a_fixed_number_that_is_taken_is_refused_and_one_that_is_free_is_not() {
    let database = Database::migrated().await;
    let (one, other) = (server(&database).await, server(&database).await);
    let _held = one.claim_machine(7).await.unwrap();
    let refused = other.claim_exact_machine(7).await.unwrap_err();
    expect!["another server of this cluster has the machine number 7"]
        .assert_eq(&refused.to_string());
    assert_eq!(other.claim_exact_machine(8).await.unwrap().number(), 8);
}

#[tokio::test]
async fn servers_of_different_clusters_may_have_the_same_number() {
    let (here, there) = (Database::migrated().await, Database::migrated().await);
    let _held = server(&here).await.claim_exact_machine(7).await.unwrap();
    assert_eq!(server(&there).await.claim_exact_machine(7).await.unwrap().number(), 7);
}

#[tokio::test]
async fn a_claim_outlives_the_pool_and_its_number_is_free_once_it_is_released() {
    let database = Database::migrated().await;
    let (one, other) = (server(&database).await, server(&database).await);
    let claim = one.claim_exact_machine(7).await.unwrap();
    one.close().await;
    assert!(other.claim_exact_machine(7).await.is_err());
    claim.release().await.unwrap();
    let begun = Instant::now();
    assert_eq!(other.claim_exact_machine(7).await.unwrap().number(), 7);
    assert!(begun.elapsed() < Duration::from_secs(4), "nobody can come back for it");
}

#[tokio::test]
async fn the_number_of_a_server_that_died_is_free_once_it_cannot_come_back() {
    let database = Database::migrated().await;
    let (one, other) = (server(&database).await, server(&database).await);
    drop(one.claim_exact_machine(7).await.unwrap());
    await_release(&database).await;
    assert_eq!(other.claim_machine(7).await.unwrap().number(), 8);
    assert_eq!(other.claim_exact_machine(7).await.unwrap().number(), 7);
}

#[tokio::test]
async fn a_claim_whose_session_is_lost_is_taken_again_and_nobody_gets_it_meanwhile() {
    let database = Database::migrated().await;
    let (one, other) = (server(&database).await, server(&database).await);
    let mut claim = one.claim_exact_machine(7).await.unwrap();
    execute(&mut database.connect().await, END_HOLDERS).await;
    await_release(&database).await;
    assert_eq!(other.claim_machine(7).await.unwrap().number(), 8, "its holder may come back");
    let mut looking = database.connect().await;
    let _keeping = tokio::spawn(async move {
        claim.keep(|number| panic!("it has the number {number} now")).await;
    });
    await_lock(&mut looking, 7).await;
    let refused = other.claim_exact_machine(7).await.unwrap_err();
    assert!(matches!(refused, ClaimError::Taken { number: 7 }), "{refused:?}");
}

#[tokio::test]
async fn a_number_that_another_has_got_meanwhile_is_replaced() {
    let database = Database::migrated().await;
    let (one, other) = (server(&database).await, server(&database).await);
    let mut claim = one.claim_exact_machine(7).await.unwrap();
    execute(&mut database.connect().await, END_HOLDERS).await;
    // The claim waits until the first holder, which is not kept alive, cannot come back.
    let taken = other.claim_exact_machine(7).await.unwrap();
    assert_eq!(taken.number(), 7);
    let (said, mut renumbered) = mpsc::unbounded_channel();
    tokio::select! {
        () = claim.keep(move |number| said.send(number).unwrap()) => {}
        number = renumbered.recv() => assert_eq!(number, Some(8)),
    }
    assert_eq!(claim.number(), 8);
}

#[tokio::test]
async fn a_server_that_starts_after_the_database_did_not_get_the_number_of_one_that_lives() {
    let server = PostgresServer::private();
    let one = on(&server.url("postgres")).await;
    let mut claim = one.claim_machine(7).await.unwrap();
    server.crash();
    let other = on(&server.url("postgres")).await;
    assert_eq!(other.claim_machine(7).await.unwrap().number(), 8);
    let mut looking = PgConnection::connect(&server.url("postgres")).await.unwrap();
    let _keeping = tokio::spawn(async move {
        claim.keep(|number| panic!("it has the number {number} now")).await;
    });
    await_lock(&mut looking, 7).await;
    assert_eq!(other.claim_machine(7).await.unwrap().number(), 9);
}
