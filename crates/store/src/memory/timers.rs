//! Durable timers in memory.

use async_trait::async_trait;
use noetl_model::Timestamp;

use super::MemoryStore;
use crate::{PAGE_MAX, StoreError, TimerRow, Timers};

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
