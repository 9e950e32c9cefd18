//! Callbacks of jobs that run elsewhere, such as containers.

use noetl_compat::{Callback, CallbackAnswer, issued_by};
use noetl_control::{LoadError, MailboxAnswer, SubmitError};
use noetl_engine::{Execution, Refusal, awaits_callback};
use noetl_model::{CommandId, Cutoff, Event, EventId, ExecutionId, Seq};
use noetl_store::READ_EVENTS_MAX;

use super::IssuedCommandError;
use crate::app::App;

/// The number of commands that are tried for one callback: another callback may end a command after
/// it was chosen.
const COMMANDS_TRIED_MAX: usize = 8;

/// The reason why the end of a job is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum CallbackError {
    #[error("`{0}` is not a command of this execution")]
    NoCommand(String),
    #[error(transparent)]
    Issued(IssuedCommandError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl App {
    /// Records the end of a job for the command that waits for it; idempotent.
    pub async fn end_job(
        &self,
        execution: ExecutionId,
        step: &str,
        callback: &Callback,
    ) -> Result<CallbackAnswer, CallbackError> {
        let mut refusal = Refusal::NothingAwaited(step.to_owned());
        for _ in 0..COMMANDS_TRIED_MAX {
            let state = match self.control().state(execution, Cutoff::Latest).await {
                Ok(state) => state,
                Err(
                    error @ (LoadError::NotFound(_)
                    | LoadError::Deleted { .. }
                    | LoadError::NotNative { .. }),
                ) => {
                    return Ok(CallbackAnswer::AcceptedStale { reason: error.to_string() });
                }
                Err(
                    error @ (LoadError::Unavailable(_)
                    | LoadError::Rewound { .. }
                    | LoadError::Corrupt { .. }),
                ) => return Err(error.into()),
            };
            refusal = match self.ended_by(&state, step, callback).await? {
                Ok(command) => match self.try_callback(&state, command, callback).await? {
                    Ok(answer) => return Ok(answer),
                    Err(refusal) => refusal,
                },
                Err(refusal) => refusal,
            };
            let is_other_chosen = callback.command_id.is_none()
                && matches!(refusal, Refusal::CommandFinished(_) | Refusal::NotAwaited(_));
            if !is_other_chosen {
                break;
            }
        }
        Ok(CallbackAnswer::AcceptedStale { reason: refusal.to_string() })
    }

    /// Returns the command that a callback ends: the one it names, or the first that waits.
    async fn ended_by(
        &self,
        state: &Execution,
        step: &str,
        callback: &Callback,
    ) -> Result<Result<CommandId, Refusal>, CallbackError> {
        let Some(named) = &callback.command_id else {
            return Ok(awaits_callback(state, step, callback.job()));
        };
        let unknown = || CallbackError::NoCommand(named.clone());
        let event = issued_by(named).ok_or_else(unknown)?;
        match self.find_issued(event).await {
            Ok(issued) if issued.execution == state.id() => Ok(Ok(issued.command)),
            Ok(_) | Err(IssuedCommandError::UnknownEvent(_)) => Err(unknown()),
            Err(error) => Err(CallbackError::Issued(error)),
        }
    }

    async fn try_callback(
        &self,
        state: &Execution,
        command: CommandId,
        callback: &Callback,
    ) -> Result<Result<CallbackAnswer, Refusal>, CallbackError> {
        let (execution, job) = (state.id(), callback.job().map(str::to_owned));
        match self.control().call_back(execution, command, job, callback.outcome()).await? {
            MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_) => {
                let event_id = self.end_of(execution, state.seq(), command).await?.to_string();
                Ok(Ok(CallbackAnswer::AcceptedInFlight { event_id }))
            }
            MailboxAnswer::Refused(refusal) => Ok(Err(refusal)),
        }
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
