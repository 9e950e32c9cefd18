//! Operator's view of the database file, without asking it.

use std::sync::Arc;

use noetl_model::Timestamp;
use noetl_store::{Clock, ConnectionFigures, StoreError};
use sqlx::{AssertSqlSafe, SqliteConnection, query, query_scalar};

use crate::SqliteStore;
use crate::row::store_error;
use crate::store::Durability;

impl SqliteStore {
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(crate) async fn time(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    pub(crate) async fn expire(&self, _before: Timestamp) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns free pages at the end of the file to the file system. A file that was created without
    /// this ability has no such pages.
    pub(crate) async fn return_space(&self, limit: usize) -> Result<u64, StoreError> {
        let mut writer = self.writer(Durability::Lazy).await?;
        let free = async |writer: &mut SqliteConnection| {
            let pages = query_scalar::<_, i64>(include_str!("../sql/count_free_pages.sql"));
            pages.fetch_one(writer).await.map_err(store_error)
        };
        let before = free(&mut writer).await?;
        if before == 0 {
            return Ok(0);
        }
        let vacuum = AssertSqlSafe(format!("PRAGMA incremental_vacuum({limit})"));
        query(vacuum).fetch_all(&mut *writer).await.map_err(store_error)?;
        let after = free(&mut writer).await?;
        Ok(u64::try_from(before - after).unwrap_or(0))
    }

    pub(crate) fn write_fault(&self) -> Option<String> {
        None
    }

    pub(crate) fn shards(&self) -> usize {
        1
    }

    pub(crate) fn is_shared(&self) -> bool {
        // The lock of the file keeps other writers out.
        false
    }

    pub(crate) fn connections(&self) -> Option<ConnectionFigures> {
        let options = self.readers.options();
        Some(ConnectionFigures {
            min: options.get_min_connections(),
            max: options.get_max_connections(),
            open: self.readers.size(),
            idle: u32::try_from(self.readers.num_idle()).unwrap_or(u32::MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use noetl_model::{Digest, Seq};
    use noetl_store::conformance::given::{A, start};
    use noetl_store::{Append, EventLog as _, Layout as _, SystemClock, WriteFault};

    use super::*;

    /// Limits the file to a number of pages.
    async fn limit_pages(store: &SqliteStore, pages: i64) {
        let mut writer = store.writer(Durability::Durable).await.unwrap();
        let limit = AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
        query(limit).execute(&mut *writer).await.unwrap();
    }

    #[track_caller]
    fn assert_full<T: std::fmt::Debug>(written: Result<T, StoreError>) {
        let error = written.unwrap_err();
        assert!(
            matches!(error, StoreError::Unwritable { fault: WriteFault::Full, .. }),
            "{error:?}"
        );
    }

    #[tokio::test]
    async fn a_full_disk_is_reported_and_writing_resumes_once_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("noetl.db");
        let store = SqliteStore::open(&path, Arc::new(SystemClock)).await.unwrap();
        let pages: i64 = query_scalar("PRAGMA page_count").fetch_one(&store.readers).await.unwrap();
        limit_pages(&store, pages).await;
        let body = vec![b'1'; 256 * 1024];
        let large = Append { payloads: vec![(Digest::of(&body), body.into())], ..start(A) };
        assert_full(store.append(std::slice::from_ref(&large)).await);
        assert_full(store.check_writable().await);
        assert_eq!(store.read(A, Seq::ZERO, 10).await.unwrap(), [], "nothing is written in part");
        limit_pages(&store, i64::from(u32::MAX) - 1).await;
        store.check_writable().await.unwrap();
        assert_eq!(store.append(&[large]).await.unwrap(), [Ok(())]);
    }
}
