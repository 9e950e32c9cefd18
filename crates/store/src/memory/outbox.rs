//! Owed messages in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{ExecutionId, Message, Timestamp};

use super::MemoryStore;
use crate::{Outbox, OutboxRow, PAGE_MAX, StoreError};

#[derive(Default)]
pub(super) struct OutboxTable {
    rows: BTreeMap<i64, Owed>,
    last_id: i64,
}

struct Owed {
    row: OutboxRow,
    /// Until when the row is its sender's; `None` before anybody has taken it.
    taken_until: Option<Timestamp>,
}

impl OutboxTable {
    pub(super) fn add(&mut self, execution: ExecutionId, message: Message) {
        self.last_id += 1;
        let row = OutboxRow { id: self.last_id, execution, message, attempts: 0 };
        self.rows.insert(self.last_id, Owed { row, taken_until: None });
    }

    /// Whether a message of an execution is owed.
    pub(super) fn any_of(&self, execution: ExecutionId) -> bool {
        self.rows.values().any(|owed| owed.row.execution == execution)
    }
}

#[async_trait]
impl Outbox for MemoryStore {
    async fn take(&self, limit: usize, visibility: Duration) -> Result<Vec<OutboxRow>, StoreError> {
        let now = self.clock.now();
        let mut tables = self.tables();
        let takeable = tables
            .outbox
            .rows
            .values_mut()
            .filter(|owed| owed.taken_until.is_none_or(|until| until <= now));
        let taken = takeable.take(limit.min(PAGE_MAX)).map(|owed| {
            owed.taken_until = Some(now.after(visibility));
            owed.row.attempts += 1;
            owed.row.clone()
        });
        Ok(taken.collect())
    }

    async fn sent(&self, ids: &[i64]) -> Result<(), StoreError> {
        let mut tables = self.tables();
        for id in ids {
            tables.outbox.rows.remove(id);
        }
        Ok(())
    }

    async fn owed(&self) -> Result<u64, StoreError> {
        let count = self.tables().outbox.rows.len();
        Ok(u64::try_from(count).expect("a count of rows in memory fits"))
    }
}
