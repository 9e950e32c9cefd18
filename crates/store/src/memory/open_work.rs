//! In-memory open work of an execution.

use async_trait::async_trait;
use noetl_model::{ExecutionId, TimerId};

use super::MemoryStore;
use crate::{OpenRows, OpenWork, StoreError};

#[async_trait]
impl OpenRows for MemoryStore {
    async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError> {
        let tables = self.tables();
        let timers = (execution, TimerId(0))..=(execution, TimerId(u64::MAX));
        Ok(OpenWork {
            commands: tables.commands.of(execution),
            timers: tables.timers.range(timers).map(|((_, timer), due)| (*timer, *due)).collect(),
        })
    }
}
