//! The database of a command: which one, and what it means when it cannot be opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use noetl_store::SystemClock;
use noetl_store_sqlite::{OpenError, SqliteStore};

use crate::args::DatabaseArgs;
use crate::config::Config;
use crate::failure::Failure;

/// The database that the arguments or the environment name.
pub(crate) fn path_of(args: &DatabaseArgs, config: &Config) -> PathBuf {
    args.db.clone().unwrap_or_else(|| config.database())
}

/// Opens a database for this process alone; makes it, and its directory, if there is none.
pub(crate) async fn open(path: &Path) -> Result<SqliteStore, Failure> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot make the directory {}", directory.display()))
            .map_err(|error| Failure::broken(error).help(ELSEWHERE))?;
    }
    SqliteStore::open(path, Arc::new(SystemClock)).await.map_err(explained)
}

/// Opens a database to look at, whether or not another process writes to it.
pub(crate) async fn open_read_only(path: &Path) -> Result<SqliteStore, Failure> {
    match SqliteStore::open_read_only(path).await {
        // Opening it once for writing brings it up to date.
        Err(OpenError::Older { .. }) => open(path).await,
        opened => opened.map_err(explained),
    }
}

const ELSEWHERE: &str = "name another database with --db PATH or NOETL_DB";

fn explained(error: OpenError) -> Failure {
    match error {
        OpenError::InUse { .. } => Failure::broken(error).help(
            "wait for it or end it, use another database (--db PATH), or keep nothing (run --ephemeral)",
        ),
        OpenError::Missing { .. } => Failure::bad_input(error)
            .help("`noetl run FILE` makes it; --db PATH or NOETL_DB name another"),
        OpenError::NotOurs { .. } => Failure::bad_input(error).help(ELSEWHERE),
        OpenError::Newer { .. } => Failure::broken(error).help("use that version of noetl"),
        OpenError::Older { .. } | OpenError::Migrate { .. } => Failure::broken(error),
        OpenError::Lock { .. } | OpenError::Connect { .. } => Failure::broken(error).help(ELSEWHERE),
    }
}
