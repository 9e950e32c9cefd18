//! In-memory timers, and the clock they are compared with.

use std::sync::Arc;

use noetl_model::Timestamp;

use super::MemoryStore;
use crate::{Clock, PAGE_MAX, StoreError, TimerRow};

impl MemoryStore {
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(crate) async fn time(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }
}

impl MemoryStore {
    pub(crate) async fn due(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<TimerRow>, StoreError> {
        let tables = self.lock();
        let mut due: Vec<_> = tables
            .timers
            .iter()
            .filter(|&(_, &due_at)| due_at <= now)
            .map(|(&(execution, timer), &due_at)| TimerRow { execution, timer, due_at })
            .collect();
        due.sort_by_key(|row| (row.due_at, row.execution, row.timer));
        due.truncate(limit.min(PAGE_MAX));
        Ok(due)
    }

    pub(crate) async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.lock().timers.values().min().copied())
    }
}
