//! Operator's view of the database file.

use noetl_model::ExecutionStatus;
use noetl_store::to_row::at_most;
use noetl_store::{ConnectionFigures, StoreError, Tables, WRITE_CHECK_LEN};
use sqlx::{query, query_scalar};

use crate::SqliteStore;
use crate::row::store_error;

/// The tables that no execution can do without.
const NEEDED: &[&str] =
    &["catalog", "command", "event", "execution", "outbox", "payload", "snapshot", "timer"];

impl SqliteStore {
    pub(crate) async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        query_scalar(include_str!("../sql/count_executions.sql"))
            .bind(status.as_str())
            .bind(i64::try_from(max).unwrap_or(i64::MAX))
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)
    }

    pub(crate) async fn tables(&self) -> Result<Tables, StoreError> {
        let found: Vec<String> = query_scalar(include_str!("../sql/list_tables.sql"))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(Tables::of(found, NEEDED))
    }

    pub(crate) async fn check_writable(&self) -> Result<(), StoreError> {
        query(include_str!("../sql/check_writable.sql"))
            .bind(at_most(WRITE_CHECK_LEN, WRITE_CHECK_LEN))
            .execute(&mut *self.writer().await?)
            .await
            .map_err(store_error)?;
        match self.blobs() {
            Some(blobs) => blobs.check_writable().await,
            None => Ok(()),
        }
    }

    pub(crate) fn write_fault(&self) -> Option<String> {
        None
    }

    pub(crate) fn shards(&self) -> usize {
        1
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
    use std::sync::Arc;

    use noetl_model::{Digest, Seq};
    use noetl_store::conformance::given::{A, start};
    use noetl_store::{Append, SystemClock, WriteFault};
    use sqlx::AssertSqlSafe;

    use super::*;

    /// Limits the file to a number of pages.
    async fn limit_pages(store: &SqliteStore, pages: i64) {
        let mut writer = store.writer().await.unwrap();
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
    async fn a_full_disk_is_told_and_writing_goes_on_once_there_is_room() {
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
