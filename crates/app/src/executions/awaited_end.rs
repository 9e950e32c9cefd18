//! Waiting for the end of an execution, with its output or its error.

use std::sync::Arc;
use std::time::Duration;

use noetl_control::{Damage, LoadError};
use noetl_model::{Event, ExecutionId, ExecutionStatus, Payload, ToolError};
use serde_json::Value;
use tokio::time::Instant;

use crate::app::App;

/// The end of an execution.
#[derive(Debug, Clone)]
pub struct EndedExecution {
    pub status: ExecutionStatus,
    /// The output of a completed execution.
    pub output: Option<Arc<Value>>,
    /// The error of a failed execution.
    pub error: Option<ToolError>,
    /// The reason of a cancellation.
    pub reason: Option<String>,
}

impl App {
    /// Waits until an execution has ended, at most for `wait`; `None` if it still runs then.
    pub async fn ended(
        &self,
        execution: ExecutionId,
        wait: Duration,
    ) -> Result<Option<EndedExecution>, LoadError> {
        let Some(end) = self.control().ended(execution, Instant::now() + wait).await? else {
            return Ok(None);
        };
        let none = EndedExecution {
            status: ExecutionStatus::Completed,
            output: None,
            error: None,
            reason: None,
        };
        Ok(match &end.event {
            Event::ExecutionCompleted { output, .. } => {
                let output = self.value_of(execution, output).await?;
                Some(EndedExecution { output: Some(output), ..none })
            }
            Event::ExecutionFailed { error, .. } => {
                let status = ExecutionStatus::Failed;
                Some(EndedExecution { status, error: Some(error.clone()), ..none })
            }
            Event::ExecutionCancelled { reason, .. } => {
                let status = ExecutionStatus::Cancelled;
                Some(EndedExecution { status, reason: Some(reason.clone()), ..none })
            }
            // The control plane returns terminal events only.
            _ => None,
        })
    }

    async fn value_of(
        &self,
        execution: ExecutionId,
        payload: &Payload,
    ) -> Result<Arc<Value>, LoadError> {
        match payload {
            Payload::Inline(value) => Ok(Arc::clone(value)),
            Payload::Ref(reference) => {
                let value = self.control().payload(reference.digest).await;
                value.map_err(|error| LoadError::damaged(execution, Damage::Payload(error)))
            }
        }
    }
}
