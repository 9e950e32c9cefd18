//! Tests that databases of earlier releases keep working: before digests existed, with a report
//! where the proof begins, and before there were imported executions.

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
use super::{Authentication, Everything, HELLO, Hosts, LocalBus, Server, ServerSettings};

/// SQL that turns a database into one of the previous release.
const UNDO: &str = "
    DROP INDEX execution_fork;
    ALTER TABLE event DROP COLUMN prev_digest;
    ALTER TABLE execution DROP COLUMN head_digest;
    ALTER TABLE execution DROP COLUMN fork_execution_id;
    ALTER TABLE execution DROP COLUMN fork_seq;
    DELETE FROM schema_migration WHERE version = 50;";

/// SQL that turns a database into one whose projected events are older than imported executions.
const UNDO_IMPORTS: &str = "
    DELETE FROM imported_execution;
    DROP TABLE unfolded_import;
    DELETE FROM schema_migration WHERE version = 142;";

fn server_on(store: Arc<dyn Everything>) -> Server {
    let settings = ServerSettings::new(Authentication::Open, Hosts::Any);
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

/// Projected events of an earlier release become imported executions, once.
async fn old_imports_are_folded(
    open: impl AsyncFn() -> Arc<dyn Everything>,
    undo: impl AsyncFnOnce(),
) {
    let server = server_on(open().await);
    server.register(HELLO).await;
    let native = server.start("tests/hello").await;
    let event = |id: i64, execution: &str, name: &str| {
        json!({
            "event_id": id, "execution_id": execution, "event_type": name, "node_name": "other/path",
            "timestamp": format!("2026-01-02T03:04:{id}Z"),
        })
    };
    let mut events = vec![
        event(10, "700", "playbook_started"),
        event(11, "700", "step.enter"),
        event(12, "700", "playbook.failed"),
        event(13, &native, "noticed"),
    ];
    // More events than one page of the fold.
    events.extend((0..1000).map(|n| json!({ "event_id": 1000 + n, "execution_id": 701 })));
    for batch in events.chunks(1000) {
        let body = json!({ "events": batch });
        let stored = server.post("/api/internal/events/project", body).await;
        assert_eq!(stored.status, 200, "{}", stored.body);
    }
    let detail = async |server: &Server| server.get("/api/executions/700").await.body;
    let before = detail(&server).await;
    assert_eq!(before["status"], "FAILED", "{before}");
    drop(server);
    undo().await;

    let server = server_on(open().await);
    assert_eq!(server.get("/api/executions/700").await.problem(), "404 unknown-execution");
    // An event that comes before the fold is part of it.
    let late = json!({ "events": [{ "event_id": 5000, "execution_id": 701 }] });
    server.post("/api/internal/events/project", late).await;
    let fold = async || server.state.app().fold_old_imports().await.expect("it is folded");
    assert_eq!(fold().await, 3);
    assert_eq!(fold().await, 0, "once is enough");
    assert_eq!(detail(&server).await, before);
    let long = server.get("/api/executions/701").await.body;
    assert_eq!((&long["event_count"], &long["origin"]), (&json!(1001), &json!("imported")));
    let listed = server.get("/api/executions?path=other").await.body;
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    let own = server.get(&format!("/api/executions/{native}")).await.body;
    assert_eq!(own["origin"], "native");
}

async fn undone_file(path: &Path, undo: &str) {
    let url = format!("sqlite://{}", path.display());
    let mut connection = SqliteConnection::connect(&url).await.expect("a database");
    let undo = undo.replace("schema_migration", "_sqlx_migrations");
    connection.execute(AssertSqlSafe(undo)).await.expect("it can be undone");
    connection.close().await.expect("it closes");
}

async fn opened_file(path: &Path) -> Arc<dyn Everything> {
    let store = SqliteStore::open(path, Arc::new(SystemClock)).await;
    Arc::new(store.expect("it opens"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_from_before_there_were_digests_goes_on() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("noetl.db");
    let open = async || opened_file(&path).await;
    goes_on(open, async || undone_file(&path, UNDO).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_from_before_there_were_imported_executions_gets_them() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("noetl.db");
    let open = async || opened_file(&path).await;
    old_imports_are_folded(open, async || undone_file(&path, UNDO_IMPORTS).await).await;
}

/// Returns the URL of a new database.
async fn new_database() -> String {
    let Backing::Postgres { databases, .. } = Backing::postgres(1).await else {
        panic!("it was asked for");
    };
    PostgresServer::shared().url(&databases[0])
}

async fn opened_database(url: &str) -> Arc<dyn Everything> {
    let read = |name: &str| (name == "NOETL_SHARDS").then(|| url.to_owned());
    let settings = ClusterSettings::from_env(read).expect("settings");
    let shards = Shards::connect(settings, TimeSource::Database).await;
    Arc::new(shards.expect("a database"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_database_from_before_there_were_imported_executions_gets_them() {
    let url = new_database().await;
    let undo = async || {
        let mut connection = PgConnection::connect(&url).await.expect("a database");
        let undo = format!("SET search_path = noetl; {UNDO_IMPORTS}");
        connection.execute(AssertSqlSafe(undo)).await.expect("it can be undone");
    };
    old_imports_are_folded(async || opened_database(&url).await, undo).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_database_from_before_there_were_digests_goes_on() {
    let url = new_database().await;
    let open = async || opened_database(&url).await;
    let undo = async || {
        let mut connection = PgConnection::connect(&url).await.expect("a database");
        // The views read columns that the previous release did not have; opening creates them.
        let undo = format!(
            "DROP SCHEMA noetl_compat CASCADE;
            SET search_path = noetl;
            {UNDO}
            DELETE FROM schema_migration WHERE version IN (132, 133);"
        );
        connection.execute(AssertSqlSafe(undo)).await.expect("it can be undone");
    };
    goes_on(open, undo).await;
}
