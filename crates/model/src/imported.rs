//! Changes of the summary of an imported execution.

use crate::{ExecutionId, ExecutionStatus, StepName, ToolError};

/// The change that an event makes to the summary of an imported execution.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedChange {
    pub path: Option<String>,
    pub version: Option<u32>,
    pub parent: Option<ExecutionId>,
    /// The status with which the event ends the execution.
    pub end: Option<ExecutionStatus>,
    pub error: Option<ToolError>,
    pub step: Option<StepChange>,
}

/// The change that an event makes to a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepChange {
    Entered(StepName),
    Completed,
    Failed,
}
