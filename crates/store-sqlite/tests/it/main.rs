//! Tests of the embedded store on real files.

mod conformance;
mod differential;
mod file;
mod statements;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use noetl_store::SystemClock;
use noetl_store_sqlite::SqliteStore;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};
use tempfile::TempDir;

/// Returns a path for a database, removed with the returned directory.
fn fresh_path() -> (PathBuf, TempDir) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    (directory.path().join("noetl.db"), directory)
}

async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Arc::new(SystemClock)).await.expect("the database opens")
}

/// Opens a connection that bypasses the store.
async fn connect(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.expect("the file opens")
}
