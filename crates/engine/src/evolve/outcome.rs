//! The fold of events about the execution as a whole: its end, its lateness, its notifications.

use noetl_model::{Event, ExecutionStatus, Timestamp};

use crate::Execution;

impl Execution {
    /// Folds the end of an execution, its lateness or a notification; other events change nothing.
    pub(super) fn outcome_changed(&mut self, event: &Event, at: Timestamp) -> Result<(), String> {
        match event {
            Event::ExecutionCompleted { .. } => self.end(ExecutionStatus::Completed, at),
            Event::ExecutionCancelled { .. } => self.end(ExecutionStatus::Cancelled, at),
            Event::ExecutionFailed { error, .. } => {
                self.error = Some(error.clone());
                self.end(ExecutionStatus::Failed, at)
            }
            Event::ExecutionLate { .. } => self.found_late(at),
            Event::NotificationRequested { .. } => {
                // The state of an ended execution does not change.
                if !self.status.is_terminal() {
                    self.noticed += 1;
                }
                Ok(())
            }
            other => Err(format!("{} is about a part of the execution", other.tag().as_str())),
        }
    }

    fn found_late(&mut self, at: Timestamp) -> Result<(), String> {
        match self.late_at.replace(at) {
            None => Ok(()),
            Some(before) => Err(format!("the execution was found late before, at {before}")),
        }
    }
}
