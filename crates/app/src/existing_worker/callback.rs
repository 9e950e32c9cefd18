//! Callbacks of jobs that run elsewhere, such as containers.

use noetl_compat::{Callback, CallbackAnswer};
use noetl_control::{LoadError, SubmitError};
use noetl_engine::{HolderStatus, held_at};
use noetl_model::{
    CommandId, Cutoff, Event, EventId, ExecutionId, Logs, Report, ReportAnswer, Seq,
};
use noetl_store::READ_EVENTS_MAX;

use crate::app::App;

/// The reason why the end of a job is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum CallbackError {
    #[error("{0}")]
    ReportRefused(String),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl App {
    /// Records the end of a job for the step that waits for it; idempotent.
    pub async fn end_job(
        &self,
        execution: ExecutionId,
        step: &str,
        callback: &Callback,
    ) -> Result<CallbackAnswer, CallbackError> {
        let state = match self.control().state(execution, Cutoff::Latest).await {
            Ok(state) => state,
            Err(LoadError::NotFound(_) | LoadError::NotNative { .. }) => {
                return Ok(CallbackAnswer::AcceptedStale);
            }
            Err(
                error @ (LoadError::Unavailable(_)
                | LoadError::Rewound { .. }
                | LoadError::Corrupt { .. }),
            ) => return Err(error.into()),
        };
        let held = held_at(&state, step).into_iter().next();
        let Some((command, HolderStatus::Worker { worker, attempt, .. })) = held else {
            return Ok(CallbackAnswer::AcceptedStale);
        };
        let (outcome, logs) = (callback.outcome(), Logs::default());
        let report = Report { execution, command, attempt, worker, outcome, logs, next: None };
        match self.control().report(report).await? {
            ReportAnswer::Accepted | ReportAnswer::Continued(_) => {}
            ReportAnswer::Superseded | ReportAnswer::Unknown => {
                return Ok(CallbackAnswer::AcceptedStale);
            }
            ReportAnswer::Refused { reason } => return Err(CallbackError::ReportRefused(reason)),
        }
        let event_id = self.end_of(execution, state.seq(), command).await?.to_string();
        Ok(CallbackAnswer::AcceptedInFlight { event_id })
    }

    /// Finds the event after `after` that ended a command.
    async fn end_of(
        &self,
        execution: ExecutionId,
        mut after: Seq,
        ended: CommandId,
    ) -> Result<EventId, LoadError> {
        loop {
            let page = self.events(execution, after, READ_EVENTS_MAX).await?;
            let end = page.iter().find(|recorded| {
                matches!(
                    &recorded.event,
                    Event::CommandCompleted { command, .. } | Event::CommandFailed { command, .. }
                        if *command == ended
                )
            });
            match (end, page.last()) {
                (Some(end), _) => return Ok(end.event_id),
                (None, Some(last)) => after = last.seq,
                // The end was reported before, so the log has been trimmed meanwhile.
                (None, None) => return Err(LoadError::NotFound(execution)),
            }
        }
    }
}
