//! The SQLite store: two writing connections, used one at a time, and a few reading ones.

use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use noetl_store::{Blobs, Clock, StoreError, SystemClock};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Connection as _, Sqlite, SqliteConnection, SqlitePool, SqliteTransaction, query};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard};

use crate::open::{self, OpenError};
use crate::row::store_error;

/// A statement with its arguments.
type SqliteQuery<'q> = Query<'q, Sqlite, SqliteArguments>;

/// The write lock and its connection.
pub(crate) type Writing<'a> = MappedMutexGuard<'a, SqliteConnection>;

/// A store in one SQLite file.
pub struct SqliteStore {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) readers: SqlitePool,
    /// `None` in a store that was opened read-only.
    writer: Option<Writer>,
    /// The blob storage of large payloads, if they are not in the file.
    blobs: Option<Arc<dyn Blobs>>,
}

struct Writer {
    connections: Mutex<WriteConnections>,
    /// The lock that keeps other processes from writing while it is open.
    _lock: File,
}

pub(crate) struct WriteConnections {
    /// The connection whose commits survive a power loss.
    durable: SqliteConnection,
    /// The connection whose commits survive the death of the process and, after the next durable
    /// commit, a power loss. A flush is the largest cost of a small commit.
    lazy: SqliteConnection,
    /// True if a transaction of the durable connection may be unfinished.
    is_torn: bool,
}

/// Begins a write transaction.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(crate) const COMMIT: &str = "COMMIT";

/// The durable connection for a manual transaction. Unless it is settled, the next writer rolls it
/// back.
pub(crate) struct WholeWriter<'a>(MutexGuard<'a, WriteConnections>);

impl WholeWriter<'_> {
    /// Marks the transaction as ended.
    pub(crate) fn settle(mut self) {
        self.0.is_torn = false;
    }
}

impl Deref for WholeWriter<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.0.durable
    }
}

impl DerefMut for WholeWriter<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.0.durable
    }
}

impl SqliteStore {
    /// Opens a database for this process alone, creates it if it is missing, and applies the
    /// migrations.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let lock = open::lock(path).await?;
        open::keep_private(path)?;
        let mut durable = open::writer(path).await?;
        // No other process is running, so messages in flight have lost their sender.
        query(include_str!("../sql/release_messages.sql"))
            .bind(clock.now().as_micros())
            .execute(&mut durable)
            .await
            .map_err(|source| OpenError::Connect { path: path.to_owned(), source })?;
        let lazy = open::lazy_writer(path).await?;
        let connections = WriteConnections { durable, lazy, is_torn: false };
        let writer = Some(Writer { connections: Mutex::new(connections), _lock: lock });
        Ok(Self { clock, readers: open::readers(path), writer, blobs: None })
    }

    /// Opens a database for reading, while another process may serve it. Writing to it fails.
    pub async fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        open::examine(path).await?;
        let clock = Arc::new(SystemClock);
        Ok(Self { clock, readers: open::readers(path), writer: None, blobs: None })
    }

    /// Stores new large payloads in blob storage; existing ones stay in the file.
    #[must_use]
    pub fn with_blobs(self, blobs: Arc<dyn Blobs>) -> Self {
        Self { blobs: Some(blobs), ..self }
    }

    pub(crate) fn blobs(&self) -> Option<&dyn Blobs> {
        self.blobs.as_deref()
    }

    /// Runs a query and returns its rows.
    pub(crate) async fn rows(
        &self,
        statement: SqliteQuery<'_>,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        statement.fetch_all(&self.readers).await.map_err(store_error)
    }

    /// Runs a query and returns its first row.
    pub(crate) async fn row(
        &self,
        statement: SqliteQuery<'_>,
    ) -> Result<Option<SqliteRow>, StoreError> {
        statement.fetch_optional(&self.readers).await.map_err(store_error)
    }

    /// Runs a statement in its own transaction and returns the number of rows it wrote.
    pub(crate) async fn write(&self, statement: SqliteQuery<'_>) -> Result<u64, StoreError> {
        let done = statement.execute(&mut *self.writer().await?).await;
        Ok(done.map_err(store_error)?.rows_affected())
    }

    /// Like `write`, on the lazy connection.
    pub(crate) async fn write_lazily(&self, statement: SqliteQuery<'_>) -> Result<u64, StoreError> {
        let done = statement.execute(&mut *self.lazy_writer().await?).await;
        Ok(done.map_err(store_error)?.rows_affected())
    }

    /// Waits for the write lock and returns the durable connection.
    pub(crate) async fn writer(&self) -> Result<Writing<'_>, StoreError> {
        Ok(MutexGuard::map(self.locked().await?, |connections| &mut connections.durable))
    }

    /// Waits for the write lock and returns the durable connection for a manual transaction.
    pub(crate) async fn whole_writer(&self) -> Result<WholeWriter<'_>, StoreError> {
        let mut connections = self.locked().await?;
        connections.is_torn = true;
        Ok(WholeWriter(connections))
    }

    /// Waits for the write lock and returns the lazy connection, for updates that are repeated if a
    /// power loss drops them.
    pub(crate) async fn lazy_writer(&self) -> Result<Writing<'_>, StoreError> {
        Ok(MutexGuard::map(self.locked().await?, |connections| &mut connections.lazy))
    }

    async fn locked(&self) -> Result<MutexGuard<'_, WriteConnections>, StoreError> {
        let Some(writer) = &self.writer else {
            return Err(StoreError::Unavailable("the store was opened for reading only".into()));
        };
        let mut connections = writer.connections.lock().await;
        if connections.is_torn {
            // The rollback fails if the transaction has already ended.
            let _ended = query("ROLLBACK").execute(&mut connections.durable).await;
            connections.is_torn = false;
        }
        Ok(connections)
    }
}

/// Begins a write transaction. Dropping it rolls it back.
pub(crate) async fn begin(
    connection: &mut SqliteConnection,
) -> Result<SqliteTransaction<'_>, StoreError> {
    connection.begin_with(BEGIN).await.map_err(store_error)
}
