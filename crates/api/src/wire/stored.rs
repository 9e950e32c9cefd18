//! Bodies of the routes for clients that share the server's own types, such as the command line:
//! executions and events as stored.

use std::collections::BTreeMap;

use noetl_model::{ExecutionId, Label, LabelError, LogOrigin, Recorded, Summary};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SummaryReply {
    #[schema(value_type = Object)]
    pub summary: Summary,
    /// `native`, `imported` or `subscription`.
    #[serde(default)]
    #[schema(value_type = String)]
    pub origin: LogOrigin,
}

/// Filters and page of a list of executions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SummariesQuery {
    /// `running`, `completed`, `failed` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// A part of the path, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The whole path; takes precedence over `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_exact: Option<String>,
    /// Selects executions of this playbook version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog_id: Option<i64>,
    /// Selects the children of this execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_execution_id: Option<i64>,
    /// Selects executions with these labels, one on each line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// Selects executions that this person or program started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Selects executions with these words in the path, a label's value, the error message or the reason
    /// of a cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Selects executions older than this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl SummariesQuery {
    /// Returns the labels of the query as its parameter.
    pub fn label_lines(labels: &[Label]) -> Option<String> {
        let lines: Vec<String> = labels.iter().map(Label::to_string).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Returns the wanted labels.
    pub fn labels(&self) -> Result<Vec<Label>, LabelError> {
        self.labels.as_deref().unwrap_or_default().lines().map(str::parse).collect()
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SummariesReply {
    /// Summaries, newest first.
    #[schema(value_type = Vec<Object>)]
    pub summaries: Vec<Summary>,
    /// The origins of the executions that the engine does not run, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object)]
    pub origins: BTreeMap<ExecutionId, LogOrigin>,
}

/// Selects the events to read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Read events after this seq.
    #[serde(default)]
    pub after: u64,
    /// Maximum wait in milliseconds, if there is no event yet and the execution has not ended.
    #[serde(default)]
    pub wait_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LogReply {
    /// Events in order; empty if there is no later one yet.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Recorded>,
}
