//! Payloads, snapshots and replays on SQLite.

use noetl_model::{Digest, EventId, ExecutionId, Seq, Timestamp};
use noetl_store::{
    PAGE_MAX, ReplayBound, ReplayMark, SavedReplay, Snapshot, StoreError, brought_back,
};
use sqlx::{query, query_as, query_scalar};

use crate::SqliteStore;
use crate::row::{at_most, store_error, stored};

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
        let mut writer = self.lazy_writer().await?;
        query(include_str!("../sql/put_snapshot.sql"))
            .bind(execution.0)
            .bind(stored(snapshot.seq.0))
            .bind(snapshot.shape)
            .bind(&snapshot.body[..])
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    pub(crate) async fn latest(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Snapshot>, StoreError> {
        let row: Option<(u64, u32, Vec<u8>)> = query_as(include_str!("../sql/find_snapshot.sql"))
            .bind(execution.0)
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(row.map(|(seq, shape, body)| Snapshot { seq: Seq(seq), shape, body }))
    }
}

impl SqliteStore {
    pub(crate) async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError> {
        let mut writer = self.lazy_writer().await?;
        query(include_str!("../sql/put_replay_fold.sql"))
            .bind(execution.0)
            .bind(projection)
            .bind(stored(replay.seq.0))
            .bind(replay.last_id.0)
            .bind(replay.last_at.as_micros())
            .bind(replay.shape)
            .bind(&replay.body[..])
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    pub(crate) async fn furthest_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        bound: ReplayBound,
    ) -> Result<Option<SavedReplay>, StoreError> {
        let row: Option<(u64, i64, i64, u32, Vec<u8>)> =
            query_as(include_str!("../sql/find_replay_fold.sql"))
                .bind(execution.0)
                .bind(projection)
                .bind(bound.shape)
                .bind(stored(bound.seq.0))
                .bind(bound.last_id.map(|id| id.0))
                .bind(bound.last_at.map(Timestamp::as_micros))
                .fetch_optional(&self.readers)
                .await
                .map_err(store_error)?;
        Ok(row.map(|(seq, last_id, last_at, shape, body)| SavedReplay {
            seq: Seq(seq),
            last_id: EventId(last_id),
            last_at: Timestamp::from_micros(last_at),
            shape,
            body,
        }))
    }

    pub(crate) async fn saved_replays(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<ReplayMark>, StoreError> {
        let rows: Vec<(String, u64, u32)> = query_as(include_str!("../sql/list_replay_folds.sql"))
            .bind(execution.0)
            .bind(at_most(PAGE_MAX, PAGE_MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        let mark = |(projection, seq, shape)| ReplayMark { projection, seq: Seq(seq), shape };
        Ok(rows.into_iter().map(mark).collect())
    }
}
