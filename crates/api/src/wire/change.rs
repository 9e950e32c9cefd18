//! Bodies about events of an execution: the change an event made, its cause and effects, and the
//! values that templates and guards read.

use noetl_model::{ExecutionStatus, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{PositionStep, PositionValue};
use crate::AnyId;

/// The difference between two positions of an execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PositionChange {
    pub execution_id: AnyId,
    /// The seq of the earlier position; 0 is before the first event.
    pub from: u64,
    /// The seq of the later position.
    pub to: u64,
    /// The event that made the change, if the positions are neighbours.
    pub event: Option<EventMark>,
    /// The status before and after, if it differs.
    #[schema(value_type = Option<Vec<String>>)]
    pub status: Option<(ExecutionStatus, ExecutionStatus)>,
    /// The steps that differ, by name.
    pub steps: Vec<PositionStepChange>,
    /// The variables of `ctx` that differ, by name.
    pub ctx: Vec<ValueChange>,
    /// The workload, if it differs: a fork may change it.
    pub workload: Option<ValueChange>,
    /// The arcs that were taken in between, by their steps.
    pub arcs: Vec<ArcChange>,
    /// The numbers of open parts before and after, if they differ.
    #[schema(value_type = Option<Vec<u64>>)]
    pub open: Option<(u64, u64)>,
}

/// An event in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventMark {
    pub seq: u64,
    pub event_id: AnyId,
    /// The type of the event as stored, such as `step.completed`.
    pub event_type: String,
    pub step: Option<String>,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub at: Timestamp,
}

/// A step at two positions; `None` where it was not reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PositionStepChange {
    pub name: String,
    pub before: Option<PositionStep>,
    pub after: Option<PositionStep>,
    /// True if the outputs differ.
    pub has_other_output: bool,
}

/// A value at two positions; `None` where there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ValueChange {
    pub name: String,
    pub before: Option<PositionValue>,
    pub after: Option<PositionValue>,
}

/// The number of times that an arc was taken, at two positions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArcChange {
    pub from: String,
    pub to: String,
    pub times_before: u64,
    pub times_after: u64,
}

/// The event that led to an event, and the events that followed from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventLinks {
    pub execution_id: AnyId,
    pub event: EventMark,
    /// The event that led to this one; `None` if the cause is outside the log, or a decision of
    /// more than 1,000 events ago.
    pub cause: Option<EventMark>,
    /// The events that this one led to, oldest first, at most 100.
    pub effects: Vec<EventMark>,
    /// The seq up to which effects were looked for.
    pub looked_until: u64,
}

/// A template and the position at which it is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvaluateRequest {
    /// The seq of the last event that is part of the state; the last event of the log if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// A template, or a map or list with templates; at most 64 KB of JSON.
    #[schema(value_type = Object)]
    pub template: Value,
    /// The step whose open run the template is evaluated in, with its variables and tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The index of an open item of the step's loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
}

/// The result of a template at a position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvaluateAnswer {
    pub execution_id: AnyId,
    pub position: u64,
    pub result: TemplateResult,
    /// The values that the template mentions, at most 20.
    pub reads: Vec<TemplateRead>,
}

/// The value of a template, or the reason why it has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TemplateResult {
    Value {
        /// `null`, `boolean`, `number`, `string`, `list` or `map`.
        #[serde(rename = "type")]
        kind: String,
        #[schema(value_type = Object)]
        value: Value,
    },
    Error {
        message: String,
    },
}

/// A value that a template or guard reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TemplateRead {
    /// The path as the template mentions it, such as `ctx.total`.
    pub path: String,
    /// `None` if the path cannot be read.
    pub value: Option<PositionValue>,
}

/// The guards behind an event of a step: why it was entered, skipped or left by an arc.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GuardsAnswer {
    pub execution_id: AnyId,
    pub event: EventMark,
    /// `None` if no guard decides about an event of this type.
    pub step: Option<String>,
    pub guards: Vec<GuardView>,
}

/// A guard evaluated again with the values it had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GuardView {
    pub subject: GuardSubjectView,
    /// The guard as written; `None` if it always holds.
    #[schema(value_type = Option<Object>)]
    pub when: Option<Value>,
    pub result: GuardResultView,
    pub reads: Vec<TemplateRead>,
}

/// The subject of a guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum GuardSubjectView {
    /// The step's own `when`.
    Step,
    /// An admission rule of the step, by its place from 0.
    Admission { index: u64, allow: bool },
    /// An arc of the step, by its place from 0.
    Arc { index: u64, to: String },
}

/// The result of a guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum GuardResultView {
    Held,
    NotHeld,
    /// The guard was not reached: an earlier one had decided, or it cannot handle a failure.
    NotEvaluated,
    /// The guard does not work with these values.
    Error {
        message: String,
    },
}
