//! Bodies of the routes for clients that know our own types, such as the command line: executions
//! and their events as they are stored.

use noetl_model::{CatalogId, ErrorMode, Pool, Recorded, Summary};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

/// A wish for an execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StartCall {
    #[schema(value_type = Object)]
    pub playbook: WantedPlaybook,
    /// Merged over the playbook's workload.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub payload: Map<String, Value>,
    /// As the playbook says if none.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub error_mode: Option<ErrorMode>,
    /// Where its commands wait; the shared pool if none.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub pool: Option<Pool>,
}

/// Which playbook is meant.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WantedPlaybook {
    Id(CatalogId),
    /// The newest version if none is named.
    Path {
        path: String,
        version: Option<u32>,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SummaryReply {
    #[schema(value_type = Object)]
    pub summary: Summary,
}

/// Which executions are listed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SummariesQuery {
    /// `running`, `completed`, `failed` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// A part of the path, whatever its case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The whole path; comes before a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_exact: Option<String>,
    /// Only executions of this version of a playbook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog_id: Option<i64>,
    /// Only executions that this one has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_execution_id: Option<i64>,
    /// Only executions older than this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SummariesReply {
    /// Newest first.
    #[schema(value_type = Vec<Object>)]
    pub summaries: Vec<Summary>,
}

/// Which events are read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Only events after this place.
    #[serde(default)]
    pub after: u64,
    /// How long to wait for one, if there is none yet and the execution has not ended.
    #[serde(default)]
    pub wait_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LogReply {
    /// In order; none if there is no later one yet.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Recorded>,
}
