//! The numbers by which ids tell the servers of a cluster apart.

use expect_test::expect;
use noetl_store_postgres::{ClusterSettings, MACHINES_MAX, Shards, TimeSource};
use noetl_testkit::PostgresServer;

use crate::database::{Database, execute};

/// Waits until nobody else holds the number that is claimed while this is begun.
const AWAIT_RELEASE: &str = "SELECT pg_advisory_lock(classid::integer, objid::integer)
    FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE locktype = 'advisory' AND objsubid = 2 AND datname = current_database()";

async fn server(database: &Database) -> Shards {
    let url = PostgresServer::shared().url(&database.name);
    let settings = ClusterSettings::from_env(|name| match name {
        "DATABASE_URL" => Some(url.clone()),
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
async fn a_claim_outlives_the_pool_and_its_number_is_free_once_it_is_dropped() {
    let database = Database::migrated().await;
    let (one, other) = (server(&database).await, server(&database).await);
    let claim = one.claim_exact_machine(7).await.unwrap();
    one.close().await;
    assert!(other.claim_exact_machine(7).await.is_err());
    let mut waiting = database.connect().await;
    let released = async {
        execute(&mut waiting, AWAIT_RELEASE).await;
        execute(&mut waiting, "SELECT pg_advisory_unlock_all()").await;
    };
    let dropping = async { drop(claim) };
    tokio::join!(released, dropping);
    assert_eq!(other.claim_exact_machine(7).await.unwrap().number(), 7);
}
