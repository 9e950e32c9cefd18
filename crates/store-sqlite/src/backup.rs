//! Backups of the database file: a consistent copy while others write, and its return.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use noetl_model::Digest;
use noetl_private_files as private_files;
use noetl_store::StoreError;
use noetl_store::from_row::Columns as _;
use sqlx::query;

use crate::SqliteStore;
use crate::open::{self, OpenError};
use crate::row::{NamedRow, store_error};

/// The suffixes of the files of a database: the file itself, its write-ahead log and its index.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];
/// The suffix of a file that is not complete yet, and of the files that a restore has replaced.
const INCOMPLETE: &str = ".restoring";
const REPLACED: &str = ".replaced";

/// The reason why a backup was not restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("there is a database at {} already", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The treatment of a database in the place of a restored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingDatabase {
    Refuse,
    /// Renames the files of the existing database to `….replaced`.
    MoveAside,
}

impl SqliteStore {
    /// Writes a copy of the database, as of one moment, to a new file. Other connections and
    /// processes can read and write meanwhile. The file is complete once this returns.
    pub async fn back_up(&self, file: &Path) -> Result<(), StoreError> {
        let unavailable = |error: io::Error| StoreError::Unavailable(Box::new(error));
        let text = file.to_str().ok_or_else(|| {
            unavailable(io::Error::new(io::ErrorKind::InvalidInput, "the path is not UTF-8"))
        })?;
        // SQLite writes into an existing empty file, which nobody else can read.
        private_files::create_file(file).map_err(unavailable)?;
        let copy = query(include_str!("../sql/back_up.sql")).bind(text.to_owned());
        copy.execute(&self.readers).await.map_err(store_error)?;
        fs::File::open(file).and_then(|copy| copy.sync_all()).map_err(unavailable)?;
        private_files::flush_name(file).map_err(unavailable)
    }

    /// Lists large payloads whose content is not in the file, by digest, at most `limit`.
    pub async fn payloads_elsewhere(
        &self,
        after: Option<Digest>,
        limit: u32,
    ) -> Result<Vec<Digest>, StoreError> {
        let after = after.map_or_else(Vec::new, |digest| digest.as_bytes().to_vec());
        let found = query(include_str!("../sql/list_payloads_elsewhere.sql"))
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        found.into_iter().map(|row| NamedRow(row).digest("digest")).collect()
    }

    /// Puts a backup in the place of a database that no process serves. The place holds either the
    /// previous files or the whole backup if the process ends in between; after a power loss, the
    /// previous files may be those renamed.
    pub async fn restore(
        backup: &Path,
        path: &Path,
        existing: ExistingDatabase,
    ) -> Result<(), RestoreError> {
        open::examine(backup).await?;
        let _lock = open::lock(path).await?;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| RestoreError::Write { path, source }
        };
        match (path.exists(), existing) {
            (false, _) | (true, ExistingDatabase::MoveAside) => {}
            (true, ExistingDatabase::Refuse) => return Err(RestoreError::Exists(path.to_owned())),
        }
        let incomplete = with_suffix(path, INCOMPLETE);
        copy(backup, &incomplete).map_err(failed(&incomplete))?;
        for suffix in SUFFIXES {
            let old = with_suffix(path, suffix);
            let aside = with_suffix(path, &format!("{REPLACED}{suffix}"));
            match fs::rename(&old, &aside) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(&old)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        fs::rename(&incomplete, path).map_err(failed(path))?;
        private_files::flush_name(path).map_err(failed(path))
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Copies a file durably to a new one that only its owner can open.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    private_files::create_file(to)?;
    let mut target = fs::File::options().write(true).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut target)?;
    target.sync_all()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use noetl_model::{ExecutionId, Seq};
    use noetl_store::conformance::given::start;
    use noetl_store::{Append, EventLog as _, Executions as _, SystemClock};

    use super::*;

    async fn opened(path: &Path) -> SqliteStore {
        SqliteStore::open(path, Arc::new(SystemClock)).await.expect("it opens")
    }

    /// Starts an execution with a large value.
    fn large(number: i64) -> Append {
        let body = format!("[{number}]").into_bytes();
        let payloads = vec![(Digest::of(&body), Arc::new(body))];
        Append { payloads, ..start(ExecutionId(number)) }
    }

    #[tokio::test]
    async fn a_backup_taken_under_load_is_whole_and_has_everything_from_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("noetl.db");
        let store = Arc::new(opened(&path).await);
        for number in 1..=200 {
            assert_eq!(store.append(&[large(number)]).await.unwrap(), [Ok(())]);
        }
        let writer = Arc::clone(&store);
        let load = tokio::spawn(async move {
            for number in 201..=400 {
                assert_eq!(writer.append(&[large(number)]).await.unwrap(), [Ok(())]);
            }
        });
        let file = directory.path().join("copy.db");
        // Another process takes the backup.
        let reading = SqliteStore::open_read_only(&path).await.unwrap();
        reading.back_up(&file).await.unwrap();
        load.await.unwrap();
        drop(store);

        let place = directory.path().join("restored.db");
        SqliteStore::restore(&file, &place, ExistingDatabase::Refuse).await.unwrap();
        let restored = opened(&place).await;
        assert_eq!(restored.damage().await.unwrap(), None);
        let mut missing = 0;
        for number in 1..=400 {
            let execution = ExecutionId(number);
            let is_there = restored.summary(execution).await.unwrap().is_some();
            assert!(is_there || number > 200, "execution {number} was stored before the backup");
            let events = restored.read(execution, Seq::ZERO, 10).await.unwrap().len();
            assert_eq!(events, usize::from(is_there), "execution {number} is whole or missing");
            let digest = Digest::of(format!("[{number}]").as_bytes());
            assert_eq!(restored.payload(&digest).await.unwrap().is_some(), is_there);
            missing += usize::from(!is_there);
        }
        assert!(missing <= 200);
        assert_eq!(restored.append(&[large(900)]).await.unwrap(), [Ok(())], "it can be written");
    }

    #[tokio::test]
    async fn a_database_is_replaced_only_on_request_and_its_files_stay() {
        let directory = tempfile::tempdir().unwrap();
        let [path, file] = ["noetl.db", "copy.db"].map(|name| directory.path().join(name));
        let store = opened(&path).await;
        assert_eq!(store.append(&[large(1)]).await.unwrap(), [Ok(())]);
        store.back_up(&file).await.unwrap();
        assert_eq!(store.append(&[large(2)]).await.unwrap(), [Ok(())]);
        let served = SqliteStore::restore(&file, &path, ExistingDatabase::MoveAside).await;
        assert!(matches!(served, Err(RestoreError::Open(OpenError::InUse { .. }))), "{served:?}");
        drop(store);
        let refused = SqliteStore::restore(&file, &path, ExistingDatabase::Refuse).await;
        assert!(matches!(refused, Err(RestoreError::Exists(_))), "{refused:?}");
        SqliteStore::restore(&file, &path, ExistingDatabase::MoveAside).await.unwrap();
        let restored = opened(&path).await;
        assert!(restored.summary(ExecutionId(1)).await.unwrap().is_some());
        assert!(restored.summary(ExecutionId(2)).await.unwrap().is_none());
        let old = opened(&with_suffix(&path, REPLACED)).await;
        assert!(old.summary(ExecutionId(2)).await.unwrap().is_some(), "with its write-ahead log");
    }

    #[tokio::test]
    async fn a_file_that_is_no_backup_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let [path, file] = ["noetl.db", "copy.db"].map(|name| directory.path().join(name));
        fs::write(&file, b"something else").unwrap();
        let refused = SqliteStore::restore(&file, &path, ExistingDatabase::Refuse).await;
        assert!(matches!(refused, Err(RestoreError::Open(OpenError::NotOurs { .. }))));
        assert!(!path.exists());
    }
}
