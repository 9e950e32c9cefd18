//! In-memory open work of an execution.

use noetl_model::{ExecutionId, TimerId};

use super::MemoryStore;
use crate::{OpenWork, StoreError};

impl MemoryStore {
    pub(crate) async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError> {
        let tables = self.lock();
        let timers = (execution, TimerId(0))..=(execution, TimerId(u64::MAX));
        Ok(OpenWork {
            commands: tables.commands.of(execution),
            timers: tables.timers.range(timers).map(|((_, timer), due)| (*timer, *due)).collect(),
        })
    }
}
