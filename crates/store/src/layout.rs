//! Operator's view of a store: its tables, connections, shards and whether it can be written.

use async_trait::async_trait;
use noetl_model::ExecutionStatus;

use crate::StoreError;

/// The number of bytes that a writability check writes.
pub const WRITE_CHECK_LEN: usize = 64 * 1024;

/// The state of a store's connection pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connections {
    /// The minimum number of open connections.
    pub min: u32,
    /// The maximum number of connections.
    pub max: u32,
    /// The number of open connections.
    pub open: u32,
    /// The number of open connections that are not in use.
    pub idle: u32,
}

/// The tables of a store, ordered by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    pub found: Vec<String>,
    /// The required tables that do not exist.
    pub missing: Vec<String>,
}

#[async_trait]
pub trait Layout: Send + Sync {
    /// Returns the number of executions with a status, counting at most `max`.
    async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError>;

    /// Returns the existing and the missing tables; both are empty for a store without tables.
    async fn tables(&self) -> Result<Tables, StoreError>;

    /// Writes [`WRITE_CHECK_LEN`] bytes durably to every part of the store, to find a full or
    /// read-only disk before work is accepted.
    async fn check_writable(&self) -> Result<(), StoreError>;

    /// Returns the fault of the last write that failed since [`Layout::check_writable`] last
    /// succeeded.
    fn write_fault(&self) -> Option<String> {
        None
    }

    /// Returns the number of databases over which executions are sharded.
    fn shards(&self) -> usize {
        1
    }

    /// Returns the state of the connection pool, if the store has one.
    fn connections(&self) -> Option<Connections> {
        None
    }
}
