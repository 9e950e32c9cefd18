//! Pauses of executions.

use serde::{Deserialize, Serialize};

/// The object whose pause an execution obeys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseScope {
    /// The execution itself.
    #[default]
    Execution,
    /// The playbook of the execution.
    Playbook,
    /// The execution whose step waits for this one.
    Parent,
}

impl PauseScope {
    pub fn is_execution(&self) -> bool {
        *self == Self::Execution
    }
}
