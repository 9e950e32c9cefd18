//! How a store is laid out and how full it is, for those who run it.

use async_trait::async_trait;
use noetl_model::ExecutionStatus;

use crate::StoreError;

/// How many bytes a check of whether a store can be written writes.
pub const WRITE_CHECK_LEN: usize = 64 * 1024;

/// The connections that a store shares among those who ask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connections {
    /// How many are kept open at least.
    pub min: u32,
    /// How many there may be.
    pub max: u32,
    /// How many there are.
    pub open: u32,
    /// How many of them nobody uses.
    pub idle: u32,
}

/// The tables of a store, by name and in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    pub found: Vec<String>,
    /// What the store needs and has not.
    pub missing: Vec<String>,
}

#[async_trait]
pub trait Layout: Send + Sync {
    /// How many executions have a status; no more than `max` are counted.
    async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError>;

    /// The tables that are there and those that are missing; a store without tables has neither.
    async fn tables(&self) -> Result<Tables, StoreError>;

    /// Writes [`WRITE_CHECK_LEN`] bytes to every part of the store and waits until they are durable,
    /// so that a full or read-only disk is found before work is taken on.
    async fn check_writable(&self) -> Result<(), StoreError>;

    /// The fault of the last write that failed since [`Layout::check_writable`] last succeeded.
    fn write_fault(&self) -> Option<String> {
        None
    }

    /// Over how many databases executions are spread.
    fn shards(&self) -> usize {
        1
    }

    /// The connections to them, if it has any.
    fn connections(&self) -> Option<Connections> {
        None
    }
}
