//! In-memory payloads, snapshots and replays.

use async_trait::async_trait;
use noetl_model::{Digest, ExecutionId, Seq};

use super::MemoryStore;
use crate::{
    PAGE_MAX, Payloads, ReplayBound, ReplayMark, SavedReplay, SavedReplays, Snapshot, Snapshots,
    StoreError,
};

#[async_trait]
impl Payloads for MemoryStore {
    async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.tables().payloads.get(digest).map(|kept| kept.bytes.clone()))
    }
}

#[async_trait]
impl Snapshots for MemoryStore {
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        let mut tables = self.tables();
        if tables.snapshots.get(&execution).is_none_or(|saved| saved.seq <= snapshot.seq) {
            tables.snapshots.insert(execution, snapshot.clone());
        }
        Ok(())
    }

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.tables().snapshots.get(&execution).cloned())
    }
}

#[async_trait]
impl SavedReplays for MemoryStore {
    async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError> {
        let key = (execution, projection.to_owned(), replay.seq);
        self.tables().replays.insert(key, replay.clone());
        Ok(())
    }

    async fn furthest_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        bound: ReplayBound,
    ) -> Result<Option<SavedReplay>, StoreError> {
        let tables = self.tables();
        let key = |seq| (execution, projection.to_owned(), seq);
        let mut saved = tables.replays.range(key(Seq::ZERO)..=key(bound.seq)).rev();
        Ok(saved.find(|(_, saved)| bound.admits(saved)).map(|(_, saved)| saved.clone()))
    }

    async fn saved_replays(&self, execution: ExecutionId) -> Result<Vec<ReplayMark>, StoreError> {
        let tables = self.tables();
        let saved = tables.replays.iter().filter(|((of, ..), _)| *of == execution);
        let marks = saved.map(|((_, projection, seq), saved)| ReplayMark {
            projection: projection.clone(),
            seq: *seq,
            shape: saved.shape,
        });
        Ok(marks.take(PAGE_MAX).collect())
    }
}
