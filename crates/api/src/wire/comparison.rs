//! Bodies about two executions, or two positions of one, side by side.

use noetl_model::{ExecutionStatus, Timestamp, ToolError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{EventMark, PositionStep, PositionValue};
use crate::AnyId;

/// Two executions at a position each. The size is bounded by their playbooks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionComparison {
    pub left: ComparedSide,
    pub right: ComparedSide,
    /// The number of events that both logs share, because one is a fork of the other or both are
    /// forks of a third.
    pub shared: u64,
    pub parting: LogParting,
    /// The steps of both playbooks, in the order of the left one.
    pub steps: Vec<ComparedStep>,
    pub workload: ComparedValue,
    /// The variables of `ctx`, by name.
    pub ctx: Vec<ComparedValue>,
}

/// One of two executions that are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedSide {
    pub execution_id: AnyId,
    /// The seq of the last event that is part of the compared state.
    pub position: u64,
    /// The seq of the last event of the log.
    pub last: u64,
    #[schema(value_type = String, example = "RUNNING")]
    pub status: ExecutionStatus,
    pub path: String,
    pub version: u32,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub started_at: Timestamp,
    /// The time of the event at the position.
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub at: Timestamp,
    #[schema(value_type = Option<Object>)]
    pub error: Option<ToolError>,
}

/// The first event at which two logs part. Parallel branches are compared each on its own, so that
/// their order makes no difference; ids, times and workers are not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum LogParting {
    /// Both logs tell the same.
    Same,
    /// The events at which they part; `None` where the log has no such event.
    Parted { left: Option<EventMark>, right: Option<EventMark> },
    /// No difference among the events that were compared; the logs are longer.
    NotFound {
        /// The number of events of each log that were compared.
        compared: u64,
    },
}

/// A step in two executions; `None` where the playbook has no such step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedStep {
    pub name: String,
    pub left: Option<PositionStep>,
    pub right: Option<PositionStep>,
    /// True if both playbooks have the step, and status, runs, error, items and output are the same;
    /// times are not compared.
    pub is_same: bool,
    /// True if the outputs differ.
    pub has_other_output: bool,
}

/// A value in two executions; `None` where there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedValue {
    pub name: String,
    pub left: Option<PositionValue>,
    pub right: Option<PositionValue>,
    pub is_same: bool,
}
