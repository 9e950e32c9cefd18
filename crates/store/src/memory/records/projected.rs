//! In-memory projected events.

use noetl_model::{Envelope, Timestamp};

use super::super::MemoryStore;
use crate::{PROJECT_MAX, StoreError};

impl MemoryStore {
    pub(crate) async fn project(&self, events: &[Envelope]) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let kept = &mut tables.records.projected;
        let before = kept.len();
        for event in events {
            kept.entry(event.event_id).or_insert_with(|| event.clone());
        }
        Ok((kept.len() - before) as u64)
    }

    pub(crate) async fn projected(
        &self,
        execution: i64,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        let tables = self.lock();
        let later = tables.records.projected.values().filter(|event| event.event_id > after);
        let found = later.filter(|event| event.execution_id == execution);
        Ok(found.take(limit.min(PROJECT_MAX)).cloned().collect())
    }

    pub(crate) async fn forget_projected(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let kept = &mut tables.records.projected;
        let old = kept.values().filter(|event| event.created_at < before).take(limit);
        let old: Vec<i64> = old.map(|event| event.event_id).collect();
        old.iter().for_each(|id| drop(kept.remove(id)));
        Ok(old.len() as u64)
    }
}
