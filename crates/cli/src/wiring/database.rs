//! Opens the embedded database of a command, and explains why it cannot be opened.

use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use noetl_app::StoreReader;
use noetl_blobs_files::FileBlobs;
use noetl_private_files as private_files;
use noetl_store::{Blobs, SteadyClock};
use noetl_store_postgres::Shards;
use noetl_store_sqlite::{DatabaseFile, OpenError, SqliteStore};
use url::Url;

use crate::args::DatabaseArgs;
use crate::config::Config;
use crate::show::failure::Failure;

/// Returns the path of the database from the arguments or the configuration.
pub(crate) fn path_of(args: &DatabaseArgs, config: &Config) -> PathBuf {
    args.db.clone().unwrap_or_else(|| config.database())
}

/// An opened database, or the server that has it open.
pub(crate) enum Opened {
    Ours(SqliteStore),
    /// A server on this machine has the database open and can be asked.
    ServedAt(Url),
}

/// Opens a database exclusively; creates it and its directory if missing.
pub(crate) async fn open(path: &Path, config: &Config) -> Result<SqliteStore, Failure> {
    with_payloads(try_open(path, config).await?.map_err(explained)?, config)
}

/// Opens a database exclusively, or finds the server that has it open.
pub(crate) async fn open_or_served(path: &Path, config: &Config) -> Result<Opened, Failure> {
    match try_open(path, config).await? {
        Ok(store) => Ok(Opened::Ours(with_payloads(store, config)?)),
        Err(error @ OpenError::InUse { .. }) => match served_at(path) {
            Some(url) => Ok(Opened::ServedAt(url)),
            None => Err(explained(error)),
        },
        Err(error) => Err(explained(error)),
    }
}

async fn try_open(path: &Path, config: &Config) -> Result<Result<SqliteStore, OpenError>, Failure> {
    if let Some(directory) = path.parent() {
        private_files::create_directory(directory)
            .with_context(|| format!("cannot make the directory {}", directory.display()))
            .map_err(|error| Failure::broken(error).help(ELSEWHERE))?;
        // Another directory may be meant for other users too.
        if directory == config.data_directory() {
            private_files::restrict(directory);
        }
    }
    Ok(SqliteStore::open(path, Arc::new(SteadyClock::default())).await)
}

/// Opens a database read-only, also if another process writes to it.
pub(crate) async fn open_read_only(path: &Path, config: &Config) -> Result<SqliteStore, Failure> {
    match SqliteStore::open_read_only(path).await {
        // Opening the database once for writing migrates it, or undoes what was interrupted.
        Err(OpenError::Older { .. } | OpenError::Interrupted { .. }) => open(path, config).await,
        opened => with_payloads(opened.map_err(explained)?, config),
    }
}

/// Opens a database file to copy and check it as it is, also if another process writes to it.
pub(crate) async fn open_file(path: &Path) -> Result<DatabaseFile, Failure> {
    DatabaseFile::open(path).await.map_err(explained)
}

/// Opens a database for reading, also if another process writes to it.
pub(crate) async fn reader(path: &Path, config: &Config) -> Result<StoreReader, Failure> {
    Ok(StoreReader::new(Arc::new(open_read_only(path, config).await?)))
}

/// Adds the configured directory of large values to a store.
fn with_payloads(store: SqliteStore, config: &Config) -> Result<SqliteStore, Failure> {
    Ok(match config.payload_directory() {
        None => store,
        Some(directory) => store.with_blobs(Arc::new(opened_directory(&directory)?)),
    })
}

/// Adds the configured directory of large values to the shards of a cluster.
pub(crate) fn shards_with_payloads(shards: Shards, config: &Config) -> Result<Shards, Failure> {
    let Some(directory) = config.payload_directory() else { return Ok(shards) };
    let places = (0..shards.shards()).map(|number| {
        let place: Arc<dyn Blobs> =
            Arc::new(opened_directory(&directory.join(format!("shard-{number}")))?);
        Ok(place)
    });
    let places: Vec<Arc<dyn Blobs>> = places.collect::<Result<_, Failure>>()?;
    Ok(shards.with_blobs(|number| places[number].clone()))
}

fn opened_directory(directory: &Path) -> Result<FileBlobs, Failure> {
    FileBlobs::open(directory)
        .with_context(|| {
            format!("cannot use the directory {} for large values", directory.display())
        })
        .map_err(|error| {
            Failure::broken(error)
                .help("name another with NOETL_PAYLOAD_DIR, or none for the database")
        })
}

/// A file beside a database with the URL of the server that has it open, so that commands of the
/// same user find the server. Removed when dropped.
pub(crate) struct Announcement {
    path: PathBuf,
}

impl Announcement {
    pub(crate) fn new(database: &Path, url: &str) -> Option<Self> {
        let path = announcement_of(database);
        let written = private_files::open_file(&path).and_then(|mut file| {
            file.set_len(0)?;
            writeln!(file, "{url}")
        });
        match written {
            Ok(()) => Some(Self { path }),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "address not written");
                None
            }
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "address not removed");
        }
    }
}

/// Returns the URL of the server that has a database open. Valid only while the database is in use:
/// a killed server leaves the file behind.
pub(crate) fn served_at(database: &Path) -> Option<Url> {
    let path = announcement_of(database);
    // The token may be sent to that URL, so only this user or root may have written the file.
    let owner = std::fs::metadata(&path).ok()?.uid();
    if ![rustix::process::geteuid().as_raw(), 0].contains(&owner) {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    text.trim().parse().ok()
}

fn announcement_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".server");
    PathBuf::from(name)
}

const ELSEWHERE: &str = "name another database with --db PATH or NOETL_DB";

fn explained(error: OpenError) -> Failure {
    match error {
        OpenError::InUse { .. } => Failure::broken(error).help(
            "cancel what it runs with Ctrl-C there, wait for it, use another database (--db PATH), \
             or keep nothing (run --ephemeral)",
        ),
        OpenError::Missing { .. } => Failure::bad_input(error)
            .help("`noetl run FILE` makes it; --db PATH or NOETL_DB name another"),
        OpenError::RestoreInterrupted { .. } => Failure::broken(error).help(
            "repeat `noetl db restore DIR`; or go back to the database before: remove the file \
             `….restoring` and take `….replaced-N` off the names of its files",
        ),
        OpenError::NotOurs { .. } => Failure::bad_input(error).help(ELSEWHERE),
        OpenError::Newer { .. } => Failure::broken(error).help("use that version of noetl"),
        OpenError::Older { .. } | OpenError::Interrupted { .. } | OpenError::Migrate { .. } => {
            Failure::broken(error)
        }
        OpenError::Lock { .. } | OpenError::Make { .. } | OpenError::Connect { .. } => {
            Failure::broken(error).help(ELSEWHERE)
        }
    }
}
