//! In-memory runtimes.

use noetl_model::Timestamp;

use super::super::MemoryStore;
use crate::{RUNTIMES_MAX, Runtime, RuntimeKey, StoreError};

impl MemoryStore {
    pub(crate) async fn put_runtime(&self, runtime: &Runtime) -> Result<Runtime, StoreError> {
        let mut tables = self.lock();
        let runtimes = &mut tables.records.runtimes;
        let mut kept = runtime.clone();
        if let Some(known) = runtimes.get(&runtime.key) {
            (kept.id, kept.created_at) = (known.id, known.created_at);
        }
        runtimes.insert(kept.key.clone(), kept.clone());
        Ok(kept)
    }

    pub(crate) async fn heard_runtime(
        &self,
        key: &RuntimeKey,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tables = self.lock();
        let heard = tables.records.runtimes.get_mut(key).map(|it| it.heartbeat = now);
        Ok(heard.is_some())
    }

    pub(crate) async fn runtime(&self, key: &RuntimeKey) -> Result<Option<Runtime>, StoreError> {
        Ok(self.lock().records.runtimes.get(key).cloned())
    }

    pub(crate) async fn runtimes(&self, kind: &str) -> Result<Vec<Runtime>, StoreError> {
        let tables = self.lock();
        let found = tables.records.runtimes.values().filter(|it| it.key.kind == kind);
        Ok(found.take(RUNTIMES_MAX).cloned().collect())
    }

    pub(crate) async fn remove_runtime(&self, key: &RuntimeKey) -> Result<bool, StoreError> {
        Ok(self.lock().records.runtimes.remove(key).is_some())
    }
}
