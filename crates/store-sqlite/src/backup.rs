//! Backups of the database file: a consistent copy while others write, of any version of the schema up
//! to the current one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use noetl_model::Digest;
use noetl_private_files as private_files;
use noetl_store::StoreError;
use noetl_store::from_row::Columns as _;
use sqlx::{SqlitePool, query};

use crate::integrity::damage_in;
use crate::open::{self, OpenError};
use crate::row::{NamedRow, store_error};

/// The age of the schema of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaAge {
    Current,
    /// The next process that serves the file migrates it.
    Older,
}

/// A database file that is copied and checked as it is, and not migrated. Others may serve it.
pub struct DatabaseFile {
    path: PathBuf,
    readers: SqlitePool,
    age: SchemaAge,
}

impl DatabaseFile {
    /// Opens a file of this or an earlier version for reading.
    pub async fn open(path: &Path) -> Result<Self, OpenError> {
        let age = open::age_of(path).await?;
        Ok(Self { path: path.to_owned(), readers: open::readers(path), age })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn age(&self) -> SchemaAge {
        self.age
    }

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

    /// Checks every page of the file and returns the first damage, as
    /// [`SqliteStore::damage`](crate::SqliteStore::damage) does.
    pub async fn damage(&self) -> Result<Option<String>, StoreError> {
        damage_in(&self.readers).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use noetl_model::{ExecutionId, Seq};
    use noetl_store::conformance::given::start;
    use noetl_store::{Append, EventLog as _, Executions as _, SystemClock};

    use sqlx::{ConnectOptions as _, Connection as _};

    use super::*;
    use crate::{ExistingDatabase, SqliteStore, restore};

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
        let reading = DatabaseFile::open(&path).await.unwrap();
        reading.back_up(&file).await.unwrap();
        load.await.unwrap();
        drop(store);

        let place = directory.path().join("restored.db");
        restore(&file, &place, ExistingDatabase::Refuse).await.unwrap();
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
    async fn a_database_of_an_earlier_version_is_copied_and_restored_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let [path, file, place] =
            ["noetl.db", "copy.db", "restored.db"].map(|name| directory.path().join(name));
        let store = opened(&path).await;
        assert_eq!(store.append(&[large(1)]).await.unwrap(), [Ok(())]);
        drop(store);
        let mut connection =
            sqlx::sqlite::SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        let earlier = "DELETE FROM _sqlx_migrations
                       WHERE version = (SELECT max(version) FROM _sqlx_migrations)";
        query(earlier).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let before = fs::read(&path).unwrap();

        let database = DatabaseFile::open(&path).await.unwrap();
        assert_eq!(database.age(), SchemaAge::Older);
        database.back_up(&file).await.unwrap();
        assert_eq!(database.damage().await.unwrap(), None);
        assert_eq!(database.payloads_elsewhere(None, 10).await.unwrap(), []);
        restore(&file, &place, ExistingDatabase::Refuse).await.unwrap();
        assert_eq!(DatabaseFile::open(&place).await.unwrap().age(), SchemaAge::Older);
        assert_eq!(fs::read(&path).unwrap(), before, "nothing was migrated");
    }
}
