//! In-memory payloads, snapshots and replays.

use noetl_model::{Digest, ExecutionId, Seq};

use super::MemoryStore;
use crate::{PAGE_MAX, ReplayBound, ReplayMark, SavedReplay, Snapshot, StoreError};

impl MemoryStore {
    pub(crate) async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().payloads.get(digest).map(|kept| kept.bytes.clone()))
    }
}

impl MemoryStore {
    pub(crate) async fn save(
        &self,
        execution: ExecutionId,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let mut tables = self.lock();
        if tables.is_erased(execution) {
            return Ok(());
        }
        if tables.snapshots.get(&execution).is_none_or(|saved| saved.seq <= snapshot.seq) {
            tables.snapshots.insert(execution, snapshot.clone());
        }
        Ok(())
    }

    pub(crate) async fn latest(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.lock().snapshots.get(&execution).cloned())
    }
}

impl MemoryStore {
    pub(crate) async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError> {
        let key = (execution, projection.to_owned(), replay.seq);
        let mut tables = self.lock();
        if !tables.is_erased(execution) {
            tables.replays.insert(key, replay.clone());
        }
        Ok(())
    }

    pub(crate) async fn furthest_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        bound: ReplayBound,
    ) -> Result<Option<SavedReplay>, StoreError> {
        let tables = self.lock();
        let key = |seq| (execution, projection.to_owned(), seq);
        let mut saved = tables.replays.range(key(Seq::ZERO)..=key(bound.seq)).rev();
        Ok(saved.find(|(_, saved)| bound.admits(saved)).map(|(_, saved)| saved.clone()))
    }

    pub(crate) async fn saved_replays(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<ReplayMark>, StoreError> {
        let tables = self.lock();
        let saved = tables.replays.iter().filter(|((of, ..), _)| *of == execution);
        let marks = saved.map(|((_, projection, seq), saved)| ReplayMark {
            projection: projection.clone(),
            seq: *seq,
            shape: saved.shape,
        });
        Ok(marks.take(PAGE_MAX).collect())
    }
}
