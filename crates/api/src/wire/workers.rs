//! Bodies of the routes through which existing workers register.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::WorkerNotice;

/// The kind under which workers register.
pub const WORKER_KIND: &str = "worker_pool";

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PoolRegistration {
    /// The worker's id.
    pub name: String,
    #[serde(default, alias = "component_type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub uri: Option<String>,
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub labels: Option<Value>,
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub capabilities: Option<Value>,
    #[serde(default)]
    pub capacity: Option<i64>,
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub runtime: Option<Value>,
}

impl PoolRegistration {
    /// Creates the registration of a noetl worker.
    pub fn of(notice: &WorkerNotice) -> Self {
        let runtime = json!({ "kind": "noetl", "version": env!("CARGO_PKG_VERSION") });
        Self {
            name: notice.worker.to_string(),
            kind: Some(WORKER_KIND.to_owned()),
            uri: None,
            status: Some("ready".to_owned()),
            labels: Some(json!({ "pool_name": notice.pool })),
            capabilities: None,
            capacity: i64::try_from(notice.slots).ok(),
            runtime: Some(runtime),
        }
    }
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct PoolName {
    pub name: String,
    #[serde(default, alias = "component_type")]
    pub kind: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PoolAnswer {
    pub status: &'static str,
    pub message: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PoolRow {
    pub runtime_id: i64,
    pub name: String,
    pub kind: String,
    pub uri: Option<String>,
    pub status: String,
    #[schema(value_type = Option<Object>)]
    pub labels: Option<Value>,
    #[schema(value_type = Option<Object>)]
    pub capabilities: Option<Value>,
    pub capacity: Option<i64>,
    #[schema(value_type = Option<Object>)]
    pub runtime: Option<Value>,
    pub heartbeat: String,
    pub created_at: String,
    pub updated_at: String,
}
