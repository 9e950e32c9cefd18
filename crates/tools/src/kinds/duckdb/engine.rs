//! Loads the DuckDB library on first use and runs work on blocking threads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use noetl_duckdb::{DuckdbConnection, Interrupter, Library};
use noetl_model::{ErrorKind, ToolError};
use tokio_util::sync::CancellationToken;

use super::failure;
use crate::run::keys::ToolConfig;

/// The interval at which a running statement is interrupted again until it stops.
const STOP_AGAIN: Duration = Duration::from_millis(20);

/// The places to search for the library, and the library once it is loaded.
pub(crate) struct Engine {
    named: Option<PathBuf>,
    places: Vec<PathBuf>,
    loaded: Mutex<Option<Arc<Library>>>,
}

/// The database to open.
pub(crate) struct DatabaseLocation {
    path: Option<String>,
    read_only: bool,
}

impl DatabaseLocation {
    /// Reads `database`, a path; the database is in memory if it is missing.
    pub(crate) fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        let path = keys.text(&["database", "db_path", "path", "db", "file"])?;
        Ok(Self {
            path: path.filter(|path| path != ":memory:"),
            read_only: keys.flag(&["read_only"])?.unwrap_or(false),
        })
    }

    fn open(&self, library: &Arc<Library>) -> Result<DuckdbConnection, ToolError> {
        let mode = if self.read_only { "READ_ONLY" } else { "AUTOMATIC" };
        // A statement that needs an extension fails instead of waiting for a download.
        let settings = [("autoinstall_known_extensions", "false"), ("access_mode", mode)];
        let opened = DuckdbConnection::open(library, self.path.as_deref(), &settings);
        opened.map_err(|error| {
            let mut told = failure::of(&error);
            let name = self.path.as_deref().unwrap_or("a database in memory");
            told.message = format!("cannot open {name}: {}", told.message);
            told
        })
    }
}

impl Engine {
    pub(crate) fn new(named: Option<PathBuf>, places: Vec<PathBuf>) -> Self {
        Self { named, places, loaded: Mutex::new(None) }
    }

    /// Returns the library; searches again if it was not found the last time.
    fn library(&self) -> Result<Arc<Library>, ToolError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = &*loaded {
            return Ok(library.clone());
        }
        let library = Library::load(self.named.as_deref(), &self.places)
            .map_err(|error| ToolError::new(ErrorKind::Config, format!("duckdb: {error}")))?;
        tracing::debug!(version = library.version(), "loaded DuckDB");
        Ok(loaded.insert(library).clone())
    }

    /// Runs work on a database, on a blocking thread, until done or cancelled.
    pub(crate) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        place: DatabaseLocation,
        cancel: &CancellationToken,
        work: impl FnOnce(&DuckdbConnection) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let engine = self.clone();
        let opened = tokio::task::spawn_blocking(move || place.open(&engine.library()?)).await;
        let connection = opened.map_err(broken)??;
        let stop = StopWhenDropped(connection.interrupter());
        let mut running = tokio::task::spawn_blocking(move || work(&connection));
        let done = tokio::select! {
            done = &mut running => done,
            () = cancel.cancelled() => loop {
                stop.0.stop();
                if let Ok(done) = tokio::time::timeout(STOP_AGAIN, &mut running).await {
                    break done;
                }
            },
        };
        done.map_err(broken)?
    }
}

/// Interrupts the work if the future that waits for it is dropped.
struct StopWhenDropped(Interrupter);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn broken(error: tokio::task::JoinError) -> ToolError {
    ToolError::new(ErrorKind::Unknown, format!("duckdb: the work ended early: {error}"))
}

/// Runs a statement and ignores its result.
pub(crate) fn execute(connection: &DuckdbConnection, sql: &str) -> Result<(), ToolError> {
    connection.run(sql, &[], |_| true).map_err(|error| failure::of(&error))?;
    Ok(())
}

#[cfg(test)]
pub(crate) fn is_missing(engine: &Engine) -> bool {
    engine.library().is_err()
}
