//! Payloads, snapshots and replays on SQLite.

use noetl_model::{Digest, ExecutionId, Timestamp};
use noetl_store::from_row;
use noetl_store::to_row::{at_most, stored};
use noetl_store::{
    PAGE_MAX, ReplayBound, ReplayMark, SavedReplay, Snapshot, StoreError, brought_back,
};
use sqlx::{query, query_scalar};

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};

impl SqliteStore {
    pub(crate) async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let body: Option<Vec<u8>> = query_scalar(include_str!("../sql/find_payload.sql"))
            .bind(&digest.as_bytes()[..])
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)?;
        match body {
            Some(body) => brought_back(self.blobs(), digest, body).await,
            None => Ok(None),
        }
    }
}

impl SqliteStore {
    pub(crate) async fn save(
        &self,
        execution: ExecutionId,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let statement = query(include_str!("../sql/put_snapshot.sql"))
            .bind(execution.0)
            .bind(stored(snapshot.seq.0))
            .bind(snapshot.shape)
            .bind(&snapshot.body[..]);
        self.write_lazily(statement).await?;
        Ok(())
    }

    pub(crate) async fn latest(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Snapshot>, StoreError> {
        let row =
            self.row(query(include_str!("../sql/find_snapshot.sql")).bind(execution.0)).await?;
        row.as_ref().map(NamedRow).map(from_row::snapshot).transpose()
    }

    pub(crate) async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError> {
        let statement = query(include_str!("../sql/put_replay_fold.sql"))
            .bind(execution.0)
            .bind(projection)
            .bind(stored(replay.seq.0))
            .bind(replay.last_id.0)
            .bind(replay.last_at.as_micros())
            .bind(replay.shape)
            .bind(&replay.body[..]);
        self.write_lazily(statement).await?;
        Ok(())
    }

    pub(crate) async fn furthest_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        bound: ReplayBound,
    ) -> Result<Option<SavedReplay>, StoreError> {
        let statement = query(include_str!("../sql/find_replay_fold.sql"))
            .bind(execution.0)
            .bind(projection)
            .bind(bound.shape)
            .bind(stored(bound.seq.0))
            .bind(bound.last_id.map(|id| id.0))
            .bind(bound.last_at.map(Timestamp::as_micros));
        let row = self.row(statement).await?;
        row.as_ref().map(NamedRow).map(from_row::saved_replay).transpose()
    }

    pub(crate) async fn saved_replays(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<ReplayMark>, StoreError> {
        let statement = query(include_str!("../sql/list_replay_folds.sql"))
            .bind(execution.0)
            .bind(at_most(PAGE_MAX, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::replay_mark).collect()
    }
}
