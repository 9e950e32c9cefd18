//! Tests that every statement of `sql/` can be prepared by its database.

use std::path::Path;
use std::sync::Arc;

use noetl_store::SystemClock;
use noetl_store_postgres::{ClusterSettings, Shards, TimeSource};
use noetl_store_sqlite::SqliteStore;
use noetl_testkit::PostgresServer;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, SqlSafeStr as _, SqliteConnection};

use crate::database::connect;

/// Returns the names and texts of the statements; the names of those for SQLite say so.
fn statements() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let files = directory.read_dir().expect("there are statements").flatten();
    let named = files.map(|file| {
        let name = file.file_name().into_string().expect("names are text");
        (name, std::fs::read_to_string(file.path()).expect("it can be read"))
    });
    named.collect()
}

/// Creates a database with the store's tables, which ends with its server.
async fn fresh_database() -> String {
    let server = PostgresServer::shared();
    let name = format!("bench_{}", std::process::id());
    let mut connection = connect(&server.url("postgres")).await.expect("it runs");
    let make = format!("CREATE DATABASE {name}");
    connection.execute(AssertSqlSafe(make)).await.expect("there is no such database");
    let url = server.url(&name);
    let read = |name: &str| (name == "DATABASE_URL").then(|| url.clone());
    let settings = ClusterSettings::from_env(read).expect("it is an address");
    Shards::connect(settings, TimeSource::Database).await.expect("it migrates").close().await;
    url
}

#[tokio::test]
async fn every_statement_can_be_prepared() {
    let url = fresh_database().await;
    let mut postgres = connect(&url).await.expect("it runs");
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("noetl.db");
    drop(SqliteStore::open(&path, Arc::new(SystemClock)).await.expect("it opens"));
    let address = format!("sqlite://{}", path.display());
    let mut sqlite = SqliteConnection::connect(&address).await.expect("it opens");
    let statements = statements();
    assert!(!statements.is_empty());
    postgres.execute("CREATE EXTENSION pg_stat_statements").await.expect("it is installed");
    let (_, make) = statements.iter().find(|(it, _)| it == "make_raw.sql").expect("it is there");
    postgres.execute(AssertSqlSafe(make.clone())).await.expect("the table is made");
    for (name, text) in statements {
        let text = AssertSqlSafe(text).into_sql_str();
        let prepared = match name.ends_with("_sqlite.sql") {
            true => sqlite.prepare(text).await.map(drop),
            false => postgres.prepare(text).await.map(drop),
        };
        prepared.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
