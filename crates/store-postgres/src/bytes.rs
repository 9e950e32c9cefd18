//! Payloads, snapshots and replays on PostgreSQL.

use noetl_model::{Digest, EventId, ExecutionId, Seq};
use noetl_store::{
    PAGE_MAX, ReplayBound, ReplayMark, SavedReplay, Snapshot, StoreError, brought_back,
};
use sqlx::{query, query_as, query_scalar};

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{at_most, store_error, stored, unsigned};

impl PgStore {
    pub(crate) async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let body: Option<Vec<u8>> = query_scalar(include_str!("../sql/find_payload.sql"))
            .bind(&digest.as_bytes()[..])
            .fetch_optional(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        match body {
            Some(body) => brought_back(self.blobs(), digest, body).await,
            None => Ok(None),
        }
    }
}

impl PgStore {
    pub(crate) async fn save(
        &self,
        execution: ExecutionId,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        query(include_str!("../sql/put_snapshot.sql"))
            .bind(execution.0)
            .bind(stored(snapshot.seq.0))
            .bind(i64::from(snapshot.shape))
            .bind(&snapshot.body[..])
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    pub(crate) async fn latest(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Snapshot>, StoreError> {
        let row: Option<(i64, i64, Vec<u8>)> = query_as(include_str!("../sql/find_snapshot.sql"))
            .bind(execution.0)
            .fetch_optional(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        row.map(|(seq, shape, body)| {
            Ok(Snapshot { seq: Seq(unsigned(seq, "seq")?), shape: unsigned(shape, "shape")?, body })
        })
        .transpose()
    }
}

impl PgStore {
    pub(crate) async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError> {
        query(include_str!("../sql/put_replay_fold.sql"))
            .bind(execution.0)
            .bind(projection)
            .bind(stored(replay.seq.0))
            .bind(replay.last_id.0)
            .bind(Instant(replay.last_at))
            .bind(i64::from(replay.shape))
            .bind(&replay.body[..])
            .execute(&mut *self.pool.connection().await?)
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
        let row: Option<(i64, i64, Instant, i64, Vec<u8>)> =
            query_as(include_str!("../sql/find_replay_fold.sql"))
                .bind(execution.0)
                .bind(projection)
                .bind(i64::from(bound.shape))
                .bind(stored(bound.seq.0))
                .bind(bound.last_id.map(|id| id.0))
                .bind(bound.last_at.map(Instant))
                .fetch_optional(&mut *self.pool.connection().await?)
                .await
                .map_err(store_error)?;
        row.map(|(seq, last_id, Instant(last_at), shape, body)| {
            Ok(SavedReplay {
                seq: Seq(unsigned(seq, "seq")?),
                last_id: EventId(last_id),
                last_at,
                shape: unsigned(shape, "shape")?,
                body,
            })
        })
        .transpose()
    }

    pub(crate) async fn saved_replays(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<ReplayMark>, StoreError> {
        let rows: Vec<(String, i64, i64)> = query_as(include_str!("../sql/list_replay_folds.sql"))
            .bind(execution.0)
            .bind(at_most(PAGE_MAX, PAGE_MAX))
            .fetch_all(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        let mark = |(projection, seq, shape)| {
            let seq = Seq(unsigned(seq, "seq")?);
            Ok(ReplayMark { projection, seq, shape: unsigned(shape, "shape")? })
        };
        rows.into_iter().map(mark).collect()
    }
}
