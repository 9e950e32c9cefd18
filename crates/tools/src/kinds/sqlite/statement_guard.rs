//! The files and settings that the statements of a call reach: `ATTACH`, `VACUUM INTO` and `PRAGMA`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use noetl_model::{ErrorKind, ToolError};
use noetl_sqlite_authorizer::{SqliteAction, set_authorizer};
use sqlx::sqlite::LockedSqliteHandle;

use crate::protect::files::FileAccess;

/// Settings that hold for the whole process, and so for the server's own database.
const PROCESS_SETTINGS: &[&str] =
    &["temp_store_directory", "data_store_directory", "soft_heap_limit", "hard_heap_limit"];

/// Decides which files and settings the statements of a connection reach. Clones share their state.
#[derive(Clone)]
pub(super) struct StatementGuard {
    files: FileAccess,
    state: Arc<GuardState>,
}

#[derive(Default)]
struct GuardState {
    /// The reason why SQLite was told to refuse the last statement.
    refusal: Mutex<Option<ToolError>>,
    /// True if a statement has been allowed to open a file since the last check of open files.
    has_opened: AtomicBool,
}

impl StatementGuard {
    pub(super) fn new(files: FileAccess) -> Self {
        Self { files, state: Arc::default() }
    }

    /// Makes SQLite ask this guard from now on.
    pub(super) fn watch(&self, connection: &mut LockedSqliteHandle<'_>) -> Result<(), ToolError> {
        let guard = self.clone();
        let set = set_authorizer(connection, move |action| match guard.decide(action) {
            Ok(()) => true,
            Err(refusal) => {
                *guard.refusal() = Some(refusal);
                false
            }
        });
        set.map_err(|error| ToolError::new(ErrorKind::DbConnection, format!("sqlite: {error}")))
    }

    fn decide(&self, action: SqliteAction<'_>) -> Result<(), ToolError> {
        let refused = |why: String| ToolError::new(ErrorKind::Config, format!("sqlite: {why}"));
        match action {
            // A temporary database, which VACUUM uses as well, and one in memory.
            SqliteAction::OpenFile(Some("" | ":memory:")) => Ok(()),
            SqliteAction::OpenFile(Some(path)) if is_uri(path) => {
                Err(refused("ATTACH and VACUUM INTO take a path, not a URI".into()))
            }
            SqliteAction::OpenFile(Some(path)) => {
                self.check(Path::new(path))?;
                self.state.has_opened.store(true, Ordering::Relaxed);
                Ok(())
            }
            SqliteAction::OpenFile(None) => {
                Err(refused("the file of ATTACH and VACUUM INTO must be a text in quotes".into()))
            }
            SqliteAction::Pragma(name)
                if PROCESS_SETTINGS.iter().any(|it| it.eq_ignore_ascii_case(name)) =>
            {
                Err(refused(format!("PRAGMA {name} holds for the whole process of the worker")))
            }
            SqliteAction::Pragma(_) => Ok(()),
        }
    }

    /// Checks the path of a file that is opened or has been opened.
    pub(super) fn check(&self, path: &Path) -> Result<(), ToolError> {
        let allowed = self.files.check(path).map(drop);
        allowed.map_err(|error| {
            ToolError::new(ErrorKind::Config, format!("sqlite: {}", error.message))
        })
    }

    /// Returns the reason of a refusal in place of SQLite's error, which has none.
    pub(super) fn explain(&self, error: ToolError) -> ToolError {
        self.refusal().take().unwrap_or(error)
    }

    /// True if a statement has been allowed to open a file since the last call.
    pub(super) fn take_opened(&self) -> bool {
        self.state.has_opened.swap(false, Ordering::Relaxed)
    }

    fn refusal(&self) -> std::sync::MutexGuard<'_, Option<ToolError>> {
        self.state.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True for a name that SQLite may take for a URI, whose parameters change which file it means.
fn is_uri(path: &str) -> bool {
    path.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}
