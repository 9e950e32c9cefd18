//! Tests that databases written before digests existed keep working, and report where the proof
//! begins.

use std::path::Path;
use std::sync::Arc;

use noetl_store::SystemClock;
use noetl_store_postgres::{ClusterSettings, Shards, TimeSource};
use noetl_store_sqlite::SqliteStore;
use noetl_testkit::PostgresServer;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};
use tempfile::TempDir;

use super::stores::Backing;
use super::{Authentication, Everything, HELLO, Hosts, LEASE, LocalBus, Server, ServerSettings};

/// SQL that turns a database into one of the previous release.
const UNDO: &str = "
    ALTER TABLE event DROP COLUMN prev_digest;
    ALTER TABLE execution DROP COLUMN head_digest;
    ALTER TABLE execution DROP COLUMN fork_execution_id;
    ALTER TABLE execution DROP COLUMN fork_seq;
    DELETE FROM schema_migration WHERE version = 50;";

fn server_on(store: Arc<dyn Everything>) -> Server {
    let settings = ServerSettings::new(Authentication::Open, Hosts::Any, LEASE);
    Server::idle(settings, store, Arc::new(LocalBus::new()), Arc::new(SystemClock))
}

async fn verified(server: &Server, id: &str) -> Value {
    let found = server.get(&format!("/api/executions/{id}/verify")).await.body;
    assert_eq!(found["valid"], true, "{found}");
    found
}

async fn goes_on(open: impl AsyncFn() -> Arc<dyn Everything>, undo: impl AsyncFnOnce()) {
    let server = server_on(open().await);
    server.register(HELLO).await;
    let (ended, running) = (server.start("tests/hello").await, server.start("tests/hello").await);
    for _ in 0..3 {
        server.work().await;
    }
    let before = [server.story(&ended).await, server.story(&running).await];
    assert_eq!(server.status(&ended).await, "COMPLETED");
    drop(server);
    undo().await;

    let server = server_on(open().await);
    assert_eq!([server.story(&ended).await, server.story(&running).await], before);
    for id in [&ended, &running] {
        assert_eq!(verified(&server, id).await["proven_from"], Value::Null);
    }
    let old = before[1].lines().count();
    server.work().await;
    assert_eq!(server.status(&running).await, "COMPLETED");
    assert_eq!(verified(&server, &running).await["proven_from"], json!(old + 1));
    let fork =
        server.post(&format!("/api/executions/{ended}/fork"), json!({ "at_event": 8 })).await;
    let fork = fork.body["execution_id"].as_str().expect("an id").to_owned();
    server.work().await;
    assert_eq!(server.status(&fork).await, "COMPLETED");
    assert_eq!(verified(&server, &fork).await["proven_from"], json!(9));
}

async fn undone_file(path: &Path) {
    let url = format!("sqlite://{}", path.display());
    let mut connection = SqliteConnection::connect(&url).await.expect("a database");
    let undo = UNDO.replace("schema_migration", "_sqlx_migrations");
    connection.execute(AssertSqlSafe(undo)).await.expect("it can be undone");
    connection.close().await.expect("it closes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_from_before_there_were_digests_goes_on() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("noetl.db");
    let open = async || {
        let store = SqliteStore::open(&path, Arc::new(SystemClock)).await;
        let store: Arc<dyn Everything> = Arc::new(store.expect("it opens"));
        store
    };
    goes_on(open, async || undone_file(&path).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_database_from_before_there_were_digests_goes_on() {
    let Backing::Postgres { databases, .. } = Backing::postgres(1).await else {
        panic!("it was asked for");
    };
    let url = PostgresServer::shared().url(&databases[0]);
    let open = async || {
        let read = |name: &str| (name == "NOETL_SHARDS").then(|| url.clone());
        let settings = ClusterSettings::from_env(read).expect("settings");
        let shards = Shards::connect(settings, TimeSource::Database).await;
        let store: Arc<dyn Everything> = Arc::new(shards.expect("a database"));
        store
    };
    let undo = async || {
        let mut connection = PgConnection::connect(&url).await.expect("a database");
        // The views read columns that the previous release did not have; opening creates them.
        let undo = format!(
            "DROP SCHEMA noetl_compat CASCADE;
            SET search_path = noetl;
            {UNDO}
            DELETE FROM schema_migration WHERE version >= 132;"
        );
        connection.execute(AssertSqlSafe(undo)).await.expect("it can be undone");
    };
    goes_on(open, undo).await;
}
