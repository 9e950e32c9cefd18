//! The store itself: one connection that writes, a few that read.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use noetl_store::{Clock, StoreError, SystemClock};
use sqlx::{Connection as _, SqliteConnection, SqlitePool, SqliteTransaction, query};
use tokio::sync::{Mutex, MutexGuard};

use crate::open::{self, OpenError};
use crate::row::store_error;

/// A store in one SQLite file.
pub struct SqliteStore {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) readers: SqlitePool,
    /// `None` in a store that was opened to be read.
    writer: Option<Writer>,
}

struct Writer {
    connection: Mutex<SqliteConnection>,
    /// Keeps other processes from writing for as long as it is open.
    _lock: File,
}

impl SqliteStore {
    /// Opens a database to be served by this process alone; makes it if there is none, and brings
    /// it up to date.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let lock = open::lock(path).await?;
        let mut connection = open::writer(path).await?;
        // This process is alone, so whoever was sending a message is gone.
        query(include_str!("../sql/release_messages.sql"))
            .bind(clock.now().as_micros())
            .execute(&mut connection)
            .await
            .map_err(|source| OpenError::Connect { path: path.to_owned(), source })?;
        let writer = Some(Writer { connection: Mutex::new(connection), _lock: lock });
        Ok(Self { clock, readers: open::readers(path), writer })
    }

    /// Opens a database to be read, whether or not another process serves it. Appending to it and
    /// taking from it fail.
    pub async fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        open::examine(path).await?;
        Ok(Self { clock: Arc::new(SystemClock), readers: open::readers(path), writer: None })
    }

    /// The one connection that writes; waits for whoever is writing.
    pub(crate) async fn writer(&self) -> Result<MutexGuard<'_, SqliteConnection>, StoreError> {
        match &self.writer {
            Some(writer) => Ok(writer.connection.lock().await),
            None => Err(StoreError::Unavailable("the store was opened for reading only".into())),
        }
    }
}

/// Begins a transaction that writes. Dropping it undoes it.
pub(crate) async fn begin(
    connection: &mut SqliteConnection,
) -> Result<SqliteTransaction<'_>, StoreError> {
    connection.begin_with("BEGIN IMMEDIATE").await.map_err(store_error)
}
