//! The conformance suite, on SQLite.

use std::sync::Arc;

use noetl_store::conformance::TestClock;
use noetl_store_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::fresh_path;

pub(crate) async fn fresh(clock: TestClock) -> (SqliteStore, TempDir) {
    let (path, directory) = fresh_path();
    let store = SqliteStore::open(&path, Arc::new(clock)).await.expect("a new database opens");
    (store, directory)
}

noetl_store::conformance!(fresh);
