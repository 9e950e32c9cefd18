//! The suite every store passes, on files in temporary directories.

use std::sync::Arc;

use noetl_store::conformance::TestClock;
use noetl_store_sqlite::SqliteStore;
use tempfile::TempDir;

async fn fresh(clock: TestClock) -> (SqliteStore, TempDir) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("noetl.db");
    let store = SqliteStore::open(&path, Arc::new(clock)).await.expect("a new database opens");
    (store, directory)
}

noetl_store::conformance!(fresh);
