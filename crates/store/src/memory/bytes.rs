//! Payloads and snapshots in memory: bytes by their key.

use async_trait::async_trait;
use noetl_model::{Digest, ExecutionId};

use super::MemoryStore;
use crate::{Payloads, Snapshot, Snapshots, StoreError};

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
