//! Runtimes: workers and servers that have said that they are there.

use async_trait::async_trait;
use noetl_model::Timestamp;
use serde_json::Value;

use crate::StoreError;

/// How many runtimes one listing returns at most, and how many are kept.
pub const RUNTIMES_MAX: usize = 10_000;

/// What tells a runtime from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuntimeKey {
    pub kind: String,
    pub name: String,
}

/// What a runtime says about itself, and when it was last heard.
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
    /// Takes a runtime in, or what it says about itself now; its id and beginning stay. The answer
    /// is what is kept.
    async fn put_runtime(&self, runtime: &Runtime) -> Result<Runtime, StoreError>;

    /// Notes that a runtime is there; says whether it is known.
    async fn heard_runtime(&self, key: &RuntimeKey, now: Timestamp) -> Result<bool, StoreError>;

    async fn runtime(&self, key: &RuntimeKey) -> Result<Option<Runtime>, StoreError>;

    /// All of a kind, by name, at most [`RUNTIMES_MAX`].
    async fn runtimes(&self, kind: &str) -> Result<Vec<Runtime>, StoreError>;

    /// Says whether there was one.
    async fn remove_runtime(&self, key: &RuntimeKey) -> Result<bool, StoreError>;
}
