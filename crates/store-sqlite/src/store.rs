//! The store itself: two connections that write, one at a time, and a few that read.

use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use noetl_store::{Blobs, Clock, StoreError, SystemClock};
use sqlx::{Connection as _, SqliteConnection, SqlitePool, SqliteTransaction, query};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard};

use crate::open::{self, OpenError};
use crate::row::store_error;

/// The right to write, and the connection to do it on.
pub(crate) type Writing<'a> = MappedMutexGuard<'a, SqliteConnection>;

/// A store in one SQLite file.
pub struct SqliteStore {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) readers: SqlitePool,
    /// `None` in a store that was opened to be read.
    writer: Option<Writer>,
    /// Where large values are, if not in the file.
    blobs: Option<Arc<dyn Blobs>>,
}

struct Writer {
    connections: Mutex<Connections>,
    /// Keeps other processes from writing for as long as it is open.
    _lock: File,
}

pub(crate) struct Connections {
    /// What it commits survives the loss of power.
    durable: SqliteConnection,
    /// What it commits survives the death of the process and, once the other has committed after it,
    /// the loss of power. A flush costs more than all else about a small commit.
    lazy: SqliteConnection,
    /// Whether a transaction of the durable one may have been left half-way.
    is_torn: bool,
}

/// Begins a transaction that writes.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(crate) const COMMIT: &str = "COMMIT";

/// The durable connection, for a transaction by hand: unless it is settled, it is undone by whoever
/// writes next.
pub(crate) struct WholeWriter<'a>(MutexGuard<'a, Connections>);

impl WholeWriter<'_> {
    /// The transaction has ended.
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
    /// Opens a database to be served by this process alone; makes it if there is none, and brings
    /// it up to date.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let lock = open::lock(path).await?;
        open::keep_private(path)?;
        let mut durable = open::writer(path).await?;
        // This process is alone, so whoever was sending a message is gone.
        query(include_str!("../sql/release_messages.sql"))
            .bind(clock.now().as_micros())
            .execute(&mut durable)
            .await
            .map_err(|source| OpenError::Connect { path: path.to_owned(), source })?;
        let lazy = open::lazy_writer(path).await?;
        let connections = Connections { durable, lazy, is_torn: false };
        let writer = Some(Writer { connections: Mutex::new(connections), _lock: lock });
        Ok(Self { clock, readers: open::readers(path), writer, blobs: None })
    }

    /// Opens a database to be read, whether or not another process serves it. Appending to it and
    /// taking from it fail.
    pub async fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        open::examine(path).await?;
        let clock = Arc::new(SystemClock);
        Ok(Self { clock, readers: open::readers(path), writer: None, blobs: None })
    }

    /// Keeps large values in a place of their own from now on; those in the file stay there.
    #[must_use]
    pub fn with_blobs(self, blobs: Arc<dyn Blobs>) -> Self {
        Self { blobs: Some(blobs), ..self }
    }

    pub(crate) fn blobs(&self) -> Option<&dyn Blobs> {
        self.blobs.as_deref()
    }

    /// The connection that writes what is answered for; waits for whoever is writing.
    pub(crate) async fn writer(&self) -> Result<Writing<'_>, StoreError> {
        Ok(MutexGuard::map(self.connections().await?, |connections| &mut connections.durable))
    }

    /// The same connection for a transaction that is begun and ended by hand.
    pub(crate) async fn whole_writer(&self) -> Result<WholeWriter<'_>, StoreError> {
        let mut connections = self.connections().await?;
        connections.is_torn = true;
        Ok(WholeWriter(connections))
    }

    /// The connection that writes what may be forgotten when the power goes, since it is then done
    /// again; waits for whoever is writing.
    pub(crate) async fn lazy_writer(&self) -> Result<Writing<'_>, StoreError> {
        Ok(MutexGuard::map(self.connections().await?, |connections| &mut connections.lazy))
    }

    async fn connections(&self) -> Result<MutexGuard<'_, Connections>, StoreError> {
        let Some(writer) = &self.writer else {
            return Err(StoreError::Unavailable("the store was opened for reading only".into()));
        };
        let mut connections = writer.connections.lock().await;
        if connections.is_torn {
            // It fails if the transaction had ended after all.
            let _ended = query("ROLLBACK").execute(&mut connections.durable).await;
            connections.is_torn = false;
        }
        Ok(connections)
    }
}

/// Begins a transaction that writes. Dropping it undoes it.
pub(crate) async fn begin(
    connection: &mut SqliteConnection,
) -> Result<SqliteTransaction<'_>, StoreError> {
    connection.begin_with(BEGIN).await.map_err(store_error)
}
