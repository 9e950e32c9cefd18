//! Runtimes: registered workers and servers.

use async_trait::async_trait;
use noetl_model::Timestamp;
use serde_json::Value;

use crate::StoreError;

/// The maximum number of runtimes that one listing returns, and that are stored.
pub const RUNTIMES_MAX: usize = 10_000;

/// The identity of a runtime.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuntimeKey {
    pub kind: String,
    pub name: String,
}

/// A registered runtime and the time of its last heartbeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Runtime {
    pub id: i64,
    pub key: RuntimeKey,
    pub uri: Option<String>,
    pub status: String,
    pub labels: Option<Value>,
    pub capabilities: Option<Value>,
    pub capacity: Option<i64>,
    pub runtime: Option<Value>,
    pub heartbeat: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[async_trait]
pub trait Runtimes: Send + Sync {
    /// Registers a runtime, or updates it and keeps its id and creation time. Returns the stored
    /// row.
    async fn put_runtime(&self, runtime: &Runtime) -> Result<Runtime, StoreError>;

    /// Records a heartbeat of a runtime. Returns false if the runtime is unknown.
    async fn heard_runtime(&self, key: &RuntimeKey, now: Timestamp) -> Result<bool, StoreError>;

    async fn runtime(&self, key: &RuntimeKey) -> Result<Option<Runtime>, StoreError>;

    /// Lists the runtimes of a kind, ordered by name, at most [`RUNTIMES_MAX`].
    async fn runtimes(&self, kind: &str) -> Result<Vec<Runtime>, StoreError>;

    /// Returns false if there was no such runtime.
    async fn remove_runtime(&self, key: &RuntimeKey) -> Result<bool, StoreError>;
}
