//! In-memory timers, and the clock they are compared with.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::Timestamp;

use super::MemoryStore;
use crate::{Clock, PAGE_MAX, StoreError, StoreTime, TimerRow, Timers};

#[async_trait]
impl StoreTime for MemoryStore {
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }
}

#[async_trait]
impl Timers for MemoryStore {
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<TimerRow>, StoreError> {
        let tables = self.tables();
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

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.tables().timers.values().min().copied())
    }
}
