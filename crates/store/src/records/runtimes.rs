//! Runtimes: registered workers and servers.

use noetl_model::Timestamp;
use serde_json::Value;

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
