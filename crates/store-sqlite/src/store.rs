//! The SQLite store: two writing connections, used one at a time, and a few reading ones.

use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use noetl_store::{Blobs, Clock, StoreError, SystemClock};
use sqlx::{SqliteConnection, SqlitePool, query};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard};

use crate::open::{self, OpenError};
use crate::restore;

/// The write lock and its connection.
pub(crate) type Writing<'a> = MappedMutexGuard<'a, SqliteConnection>;

/// A store in one SQLite file.
pub struct SqliteStore {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) readers: SqlitePool,
    /// `None` in a store that was opened read-only.
    writer: Option<Writer>,
    /// The blob storage of large payloads, if they are not in the file.
    pub(crate) blobs: Option<Arc<dyn Blobs>>,
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
    /// A durable connection that does not check foreign keys, for removing the summary of an
    /// execution before its other rows.
    erasing: SqliteConnection,
    /// The connection whose transaction may be unfinished.
    unfinished: Option<Durability>,
}

/// The durability of a commit, which decides its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    Durable,
    Lazy,
    Erasing,
}

impl WriteConnections {
    fn get(&mut self, durability: Durability) -> &mut SqliteConnection {
        match durability {
            Durability::Durable => &mut self.durable,
            Durability::Lazy => &mut self.lazy,
            Durability::Erasing => &mut self.erasing,
        }
    }
}

/// Begins a write transaction.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(crate) const COMMIT: &str = "COMMIT";

/// A connection during a manual transaction. Unless it is settled, the next writer rolls the
/// transaction back.
pub(crate) struct ManualTransaction<'a> {
    connections: MutexGuard<'a, WriteConnections>,
    durability: Durability,
}

impl ManualTransaction<'_> {
    /// Marks the transaction as ended.
    pub(crate) fn settle(mut self) {
        self.connections.unfinished = None;
    }
}

impl Deref for ManualTransaction<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        match self.durability {
            Durability::Durable => &self.connections.durable,
            Durability::Lazy => &self.connections.lazy,
            Durability::Erasing => &self.connections.erasing,
        }
    }
}

impl DerefMut for ManualTransaction<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.connections.get(self.durability)
    }
}

impl SqliteStore {
    /// Opens a database for this process alone, creates it if it is missing, and applies the
    /// migrations.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let lock = open::lock(path).await?;
        restore::refuse_interrupted(path)?;
        open::keep_private(path)?;
        let mut durable = open::writer(path).await?;
        // No other process is running, so messages in flight have lost their sender.
        query(include_str!("../sql/release_messages.sql"))
            .bind(clock.now().as_micros())
            .execute(&mut durable)
            .await
            .map_err(|source| OpenError::Connect { path: path.to_owned(), source })?;
        let lazy = open::lazy_writer(path).await?;
        let erasing = open::erasing_writer(path).await?;
        let connections = WriteConnections { durable, lazy, erasing, unfinished: None };
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

    /// Waits for the write lock and returns the connection with a durability. The lazy one is for
    /// updates that are repeated if a power loss drops them.
    pub(crate) async fn writer(&self, durability: Durability) -> Result<Writing<'_>, StoreError> {
        Ok(MutexGuard::map(self.locked().await?, |connections| connections.get(durability)))
    }

    /// Waits for the write lock and returns a connection for a manual transaction.
    pub(crate) async fn manual_transaction(
        &self,
        durability: Durability,
    ) -> Result<ManualTransaction<'_>, StoreError> {
        let mut connections = self.locked().await?;
        connections.unfinished = Some(durability);
        Ok(ManualTransaction { connections, durability })
    }

    async fn locked(&self) -> Result<MutexGuard<'_, WriteConnections>, StoreError> {
        let Some(writer) = &self.writer else {
            return Err(StoreError::Unavailable("the store was opened for reading only".into()));
        };
        let mut connections = writer.connections.lock().await;
        if let Some(durability) = connections.unfinished {
            // The rollback fails if the transaction has already ended.
            let _ended = query("ROLLBACK").execute(connections.get(durability)).await;
            connections.unfinished = None;
        }
        Ok(connections)
    }
}
