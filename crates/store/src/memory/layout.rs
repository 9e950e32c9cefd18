//! In-memory counts for the operator's view.

use async_trait::async_trait;
use noetl_model::ExecutionStatus;

use super::MemoryStore;
use crate::{Layout, StoreError, Tables};

#[async_trait]
impl Layout for MemoryStore {
    async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        let tables = self.tables();
        let found = tables.executions.values().filter(|row| row.summary.status == status).count();
        Ok(u64::try_from(found).unwrap_or(u64::MAX).min(max))
    }

    async fn tables(&self) -> Result<Tables, StoreError> {
        Ok(Tables::default())
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
