//! In-memory counts for the operator's view.

use noetl_model::ExecutionStatus;

use super::MemoryStore;
use crate::{ConnectionFigures, StoreError, Tables};

impl MemoryStore {
    pub(crate) async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        let tables = self.lock();
        let found = tables.executions.values().filter(|row| row.summary.status == status).count();
        Ok(u64::try_from(found).unwrap_or(u64::MAX).min(max))
    }

    pub(crate) async fn tables(&self) -> Result<Tables, StoreError> {
        Ok(Tables::default())
    }

    pub(crate) async fn check_writable(&self) -> Result<(), StoreError> {
        Ok(())
    }

    pub(crate) fn write_fault(&self) -> Option<String> {
        None
    }

    pub(crate) fn shards(&self) -> usize {
        1
    }

    pub(crate) fn is_shared(&self) -> bool {
        // Several control planes of a test may have it.
        true
    }

    pub(crate) fn connections(&self) -> Option<ConnectionFigures> {
        None
    }
}
