//! Opening of a database file: checks its owner, takes the write lock and applies the migrations.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use log::LevelFilter;
use noetl_private_files as private_files;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection, SqlitePool};
use tokio::time::Instant;

use crate::backup::SchemaAge;
use crate::restore;
use crate::row::{extended_code, primary_code};

/// The migrations from an empty file to the current schema.
static MIGRATIONS: Migrator = sqlx_macros::migrate!();

/// The application id in the file header, set by the first migration.
const APPLICATION_ID: i64 = 0x4E6F_4554;
/// The number of concurrent reading connections.
const READERS_MAX: u32 = 4;
/// The time a statement waits for another process that checkpoints the write-ahead log.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(10);
/// The time the lock of a killed process may outlive it: a child process in the middle of a spawn
/// holds a copy until it runs its own program.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(1);
/// The interval between attempts to take the lock.
const LOCK_TRY_EVERY: Duration = Duration::from_millis(10);
/// The size of the write-ahead log after a checkpoint, in bytes.
const LOG_FILE_MAX: &str = "67108864";
/// The page cache of a writing connection in KiB, negative as SQLite requires. The default is
/// smaller than the upper levels of a large execution's indexes.
const WRITER_CACHE: &str = "-16384";
/// SQLite's error code for a file that is not a database.
const NOT_A_DATABASE: i32 = 26;
/// SQLite's extended error code for a file whose last change has to be rolled back first.
const TO_BE_ROLLED_BACK: i32 = 776;

/// The reason a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another noetl process is already serving {}", path.display())]
    InUse { path: PathBuf },
    #[error("there is no database at {}", path.display())]
    Missing { path: PathBuf },
    #[error("{} is not a noetl database", path.display())]
    NotOurs { path: PathBuf },
    #[error("{} was written by a newer version of noetl", path.display())]
    Newer { path: PathBuf },
    #[error("{} was written by an older version of noetl and has to be served once", path.display())]
    Older { path: PathBuf },
    #[error("a change of {} was interrupted; it has to be served once", path.display())]
    Interrupted { path: PathBuf },
    #[error("a restore of {} was interrupted before its files were in place", path.display())]
    RestoreInterrupted { path: PathBuf },
    #[error("cannot lock {}", path.display())]
    Lock {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot make {}", path.display())]
    Make {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot open {}", path.display())]
    Connect {
        path: PathBuf,
        #[source]
        source: sqlx::Error,
    },
    #[error("cannot bring {} up to date", path.display())]
    Migrate {
        path: PathBuf,
        #[source]
        source: MigrateError,
    },
}

/// Takes the write lock. The lock is a separate file, since closing any handle on the database
/// itself would drop SQLite's locks.
pub(crate) async fn lock(path: &Path) -> Result<File, OpenError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let failed = |source| OpenError::Lock { path: lock_path.clone(), source };
    let file = private_files::open_file(&lock_path).map_err(failed)?;
    let deadline = Instant::now() + LOCK_WAIT_MAX;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                tokio::time::sleep(LOCK_TRY_EVERY).await;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::InUse { path: path.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
}

/// Restricts the files of a database to their owner. SQLite gives the files it creates beside the
/// database the same mode.
pub(crate) fn keep_private(path: &Path) -> Result<(), OpenError> {
    let made = private_files::create_file(path);
    made.map_err(|source| OpenError::Make { path: path.to_owned(), source })?;
    for suffix in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        private_files::restrict(Path::new(&name));
    }
    Ok(())
}

/// Opens the writing connection to a noetl database and applies the migrations.
pub(crate) async fn writer(path: &Path) -> Result<SqliteConnection, OpenError> {
    let examined = match examine(path).await {
        Err(OpenError::Interrupted { .. }) => {
            roll_back(path).await?;
            examine(path).await
        }
        examined => examined,
    };
    match examined {
        Ok(()) | Err(OpenError::Missing { .. } | OpenError::Older { .. }) => {}
        Err(error) => return Err(error),
    }
    let mut connection = connect(path, SqliteSynchronous::Full).await?;
    MIGRATIONS
        .run(&mut connection)
        .await
        .map_err(|source| OpenError::Migrate { path: path.to_owned(), source })?;
    Ok(connection)
}

/// Undoes a change that was interrupted before the database had a write-ahead log: the process died
/// while it created the file. SQLite does it with the first read of a connection that may write.
async fn roll_back(path: &Path) -> Result<(), OpenError> {
    let failed = |error| open_error(path, error);
    let mut connection = options(path).connect().await.map_err(failed)?;
    sqlx::query(include_str!("../sql/examine.sql"))
        .execute(&mut connection)
        .await
        .map_err(failed)?;
    connection.close().await.map_err(failed)
}

/// Opens a second writing connection, which leaves flushing to the first one.
pub(crate) async fn lazy_writer(path: &Path) -> Result<SqliteConnection, OpenError> {
    connect(path, SqliteSynchronous::Normal).await
}

/// Opens a third writing connection, which does not check foreign keys.
pub(crate) async fn erasing_writer(path: &Path) -> Result<SqliteConnection, OpenError> {
    let options = writer_options(path, SqliteSynchronous::Full).foreign_keys(false);
    options.connect().await.map_err(|error| open_error(path, error))
}

async fn connect(
    path: &Path,
    synchronous: SqliteSynchronous,
) -> Result<SqliteConnection, OpenError> {
    writer_options(path, synchronous).connect().await.map_err(|error| open_error(path, error))
}

/// Returns the options of a writing connection. A new file gives space of deleted rows back in
/// steps; an existing one keeps the way it was created with.
fn writer_options(path: &Path, synchronous: SqliteSynchronous) -> SqliteConnectOptions {
    options(path)
        .create_if_missing(true)
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .pragma("journal_size_limit", LOG_FILE_MAX)
        .pragma("cache_size", WRITER_CACHE)
}

/// Returns a pool of reading connections, each opened on first use.
pub(crate) fn readers(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS_MAX)
        .test_before_acquire(false)
        .connect_lazy_with(options(path).read_only(true))
}

/// Checks that a file is a noetl database with the current schema, without writing to it.
pub(crate) async fn examine(path: &Path) -> Result<(), OpenError> {
    match age_of(path).await? {
        SchemaAge::Current => Ok(()),
        SchemaAge::Older => Err(OpenError::Older { path: path.to_owned() }),
    }
}

/// True if a path has a file that is not empty. SQLite creates an empty file at the start of a new
/// database.
pub(crate) fn has_content(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

/// Checks that a file is a noetl database of this or an earlier version, without writing to it.
pub(crate) async fn age_of(path: &Path) -> Result<SchemaAge, OpenError> {
    if !has_content(path) {
        restore::refuse_interrupted(path)?;
        return Err(OpenError::Missing { path: path.to_owned() });
    }
    let failed = |error| open_error(path, error);
    let mut connection = options(path).read_only(true).connect().await.map_err(failed)?;
    let file = sqlx::query(include_str!("../sql/examine.sql"))
        .fetch_one(&mut connection)
        .await
        .map_err(failed)?;
    let application_id: i64 = file.try_get("application_id").map_err(failed)?;
    let in_use: bool = file.try_get("in_use").map_err(failed)?;
    match (application_id == APPLICATION_ID, in_use) {
        (true, _) => {}
        (false, true) => return Err(OpenError::NotOurs { path: path.to_owned() }),
        (false, false) => return Err(OpenError::Missing { path: path.to_owned() }),
    }
    let version: Option<i64> = sqlx::query_scalar(include_str!("../sql/schema_version.sql"))
        .fetch_one(&mut connection)
        .await
        .map_err(failed)?;
    match version.cmp(&MIGRATIONS.iter().map(|migration| migration.version).max()) {
        std::cmp::Ordering::Less => Ok(SchemaAge::Older),
        std::cmp::Ordering::Equal => Ok(SchemaAge::Current),
        std::cmp::Ordering::Greater => Err(OpenError::Newer { path: path.to_owned() }),
    }
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_WAIT_MAX)
        .foreign_keys(true)
        // Statements are logged at trace level, where tests count them.
        .log_statements(LevelFilter::Trace)
        .log_slow_statements(LevelFilter::Off, Duration::MAX)
}

fn open_error(path: &Path, source: sqlx::Error) -> OpenError {
    if extended_code(&source) == Some(TO_BE_ROLLED_BACK) {
        OpenError::Interrupted { path: path.to_owned() }
    } else if primary_code(&source) == Some(NOT_A_DATABASE) {
        OpenError::NotOurs { path: path.to_owned() }
    } else {
        OpenError::Connect { path: path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_is_embedded_and_numbered_in_order() {
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap();
        let numbers: Vec<i64> = MIGRATIONS.iter().map(|migration| migration.version).collect();
        assert_eq!(numbers.len(), files.count());
        assert_eq!(numbers.first(), Some(&1));
        assert!(numbers.is_sorted_by(|earlier, later| earlier < later), "{numbers:?}");
    }
}
