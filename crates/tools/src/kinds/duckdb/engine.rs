//! Loads the DuckDB library on first use and runs work on blocking threads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use noetl_duckdb::{DuckdbConnection, Interrupter, Library};
use noetl_model::{ErrorKind, ToolError};
use tokio_util::sync::CancellationToken;

use super::failure;
use crate::protect::files::FileAccess;
use crate::run::keys::ToolConfig;
use crate::run::memory::CallMemory;

/// The interval at which a running statement is interrupted again until it stops.
const STOP_AGAIN: Duration = Duration::from_millis(20);

/// The places to search for the library, and the library once it is loaded.
pub(crate) struct Engine {
    named: Option<PathBuf>,
    places: Vec<PathBuf>,
    /// True if statements may open any file and connect anywhere.
    external_access: bool,
    loaded: Mutex<Option<Arc<Library>>>,
}

/// The database to open.
pub(crate) struct DatabaseLocation {
    path: Option<String>,
    read_only: bool,
    files: FileAccess,
    /// The memory of a database, in bytes; beyond it DuckDB writes to temporary files or fails.
    memory_max: usize,
}

impl DatabaseLocation {
    /// Reads `database`, a path; the database is in memory if it is missing.
    pub(crate) fn read(keys: ToolConfig<'_>, memory: &CallMemory) -> Result<Self, ToolError> {
        let path = keys.text(&["database", "db_path", "path", "db", "file"])?;
        let path = path.filter(|path| path != ":memory:");
        let path = path.map(|path| keys.file(path)).transpose()?;
        Ok(Self {
            path: path.map(|path| path.display().to_string()),
            read_only: keys.flag(&["read_only"])?.unwrap_or(false),
            files: keys.files(),
            memory_max: memory.limits().memory_max,
        })
    }

    fn open(
        &self,
        library: &Arc<Library>,
        external_access: bool,
    ) -> Result<DuckdbConnection, ToolError> {
        let mode = if self.read_only { "READ_ONLY" } else { "AUTOMATIC" };
        // A statement that needs an extension fails instead of waiting for a download.
        let memory = format!("{}MB", (self.memory_max / 1_000_000).max(1));
        let settings = [
            ("autoinstall_known_extensions", "false"),
            ("access_mode", mode),
            ("memory_limit", &memory),
        ];
        let opened = DuckdbConnection::open(library, self.path.as_deref(), &settings);
        let opened = opened.map_err(|error| {
            let mut told = failure::of(&error);
            let name = self.path.as_deref().unwrap_or("a database in memory");
            told.message = format!("cannot open {name}: {}", told.message);
            told
        })?;
        if !external_access {
            self.confine(&opened)?;
        }
        Ok(opened)
    }
}

impl DatabaseLocation {
    /// Restricts statements to the allowed files. DuckDB refuses to take this back.
    fn confine(&self, connection: &DuckdbConnection) -> Result<(), ToolError> {
        let paths = match self.files.directories() {
            Some(paths) => paths,
            None => vec![PathBuf::from("/")],
        };
        let list = |paths: Vec<&PathBuf>| {
            let quoted = paths.iter().map(|path| path.display().to_string().replace('\'', "''"));
            quoted.map(|path| format!("'{path}'")).collect::<Vec<_>>().join(", ")
        };
        let (directories, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
            paths.iter().partition(|path| path.is_dir());
        // Versions before 1.2 have no list of directories; then no file can be opened.
        for (setting, paths) in [("allowed_directories", directories), ("allowed_paths", files)] {
            let statement = format!("SET {setting} = [{}]", list(paths));
            if let Err(error) = execute(connection, &statement) {
                tracing::debug!(error = error.message, "this DuckDB has no {setting}");
            }
        }
        execute(connection, "SET enable_external_access = false")
    }
}

impl Engine {
    pub(crate) fn new(named: Option<PathBuf>, places: Vec<PathBuf>) -> Self {
        Self { named, places, external_access: false, loaded: Mutex::new(None) }
    }

    /// Sets whether statements may open any file and connect anywhere.
    pub(crate) fn with_external_access(self, external_access: bool) -> Self {
        Self { external_access, ..self }
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
        let opened = tokio::task::spawn_blocking(move || {
            place.open(&engine.library()?, engine.external_access)
        })
        .await;
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
