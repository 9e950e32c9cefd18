//! Events posted by existing workers and other programs.
//!
//! A tool's result ends its command, and a job that a tool has started parks it; later or repeated
//! events about the command are answered and have no effect.

use std::borrow::Cow;

use noetl_compat::{
    BadFact, EventMeaning, Issued, PostedItem, Returned, UnknownToolStatus, command_named,
    completed, fact_of, failed, issued_by, reference, returned, with_stored, without_stored,
};
use noetl_control::{LoadError, MailboxAnswer, SubmitError};
use noetl_engine::Refusal;
use noetl_model::{
    Attempt, CommandId, ExecutionId, Held, Logs, Outcome, Report, ReportAnswer, WorkerId,
};
use noetl_store::StoreError;
use serde_json::Value;

use super::IssuedCommandError;
use crate::app::App;
use crate::results::ResultError;

/// The reason why a posted event is refused.
#[derive(Debug, thiserror::Error)]
pub enum PostEventError {
    #[error(transparent)]
    ToolStatus(#[from] UnknownToolStatus),
    #[error("`{0}` is written by the control plane only")]
    ReservedName(String),
    #[error(transparent)]
    Fact(#[from] BadFact),
    #[error("`context.command_id` is missing")]
    NoCommandId,
    #[error("`{0}` is not the id of a command")]
    InvalidCommandId(String),
    #[error("`{command_id}` is not a command of execution {execution}")]
    OtherExecution { command_id: String, execution: ExecutionId },
    #[error("there is no command `{0}`")]
    UnknownCommand(String),
    #[error("this worker has not claimed the command")]
    NotClaimed,
    #[error("another worker has taken this command over, or it was cancelled")]
    Superseded,
    #[error("{0}")]
    ReportRefused(String),
    #[error(transparent)]
    Refused(Refusal),
    #[error(transparent)]
    Issued(#[from] IssuedCommandError),
    #[error(transparent)]
    StoredResult(#[from] ResultError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// Applies an event of another program to an execution; returns the event's id.
    pub async fn post_event(
        &self,
        execution: ExecutionId,
        item: PostedItem,
    ) -> Result<i64, PostEventError> {
        let event_id = item.event_id.map_or_else(|| self.next_id(), |id| id.0);
        match EventMeaning::of(&item.event_type) {
            EventMeaning::Working => self.renew_leases(&item).await?,
            EventMeaning::ToolReturned => {
                let context = self.with_stored_result(&item.context).await?;
                let issued = self.reported_command(execution, &item).await?;
                let returned = returned(issued.tool, &context)?;
                self.apply_returned(&issued, &item, returned).await?;
            }
            EventMeaning::CommandFailed => {
                let issued = self.reported_command(execution, &item).await?;
                let outcome = failed(issued.tool, &item.context);
                self.end_command(&issued, &item, outcome, Logs::default()).await?;
            }
            EventMeaning::CommandCompleted => {
                let issued = self.reported_command(execution, &item).await?;
                let returned = completed(issued.tool, &item.context, item.status.as_deref())?;
                self.apply_returned(&issued, &item, returned).await?;
            }
            EventMeaning::StepEntered => {
                self.renew_leases(&item).await?;
                self.record_fact(execution, item, event_id).await?;
            }
            meaning @ (EventMeaning::ExecutionEnded(_) | EventMeaning::Reserved) => {
                let status = self.execution(execution).await?.status;
                if meaning.forges(status) {
                    return Err(PostEventError::ReservedName(item.event_type));
                }
                self.record_fact(execution, item, event_id).await?;
            }
            EventMeaning::Fact => self.record_fact(execution, item, event_id).await?,
        }
        Ok(event_id)
    }

    /// Replaces a reference to a stored result in a worker's event by the result.
    async fn with_stored_result<'a>(
        &self,
        context: &'a Value,
    ) -> Result<Cow<'a, Value>, ResultError> {
        let Some(text) = reference(context) else { return Ok(Cow::Borrowed(context)) };
        let Ok(named) = text.parse() else { return Ok(Cow::Borrowed(context)) };
        Ok(Cow::Owned(match self.find_result(&named).await? {
            Some(value) => with_stored(context, &value),
            None => without_stored(context, text),
        }))
    }

    /// Renews the leases of a worker that reports progress.
    async fn renew_leases(&self, item: &PostedItem) -> Result<(), StoreError> {
        if let Some(worker) = &item.worker_id {
            self.store().renew(&WorkerId::new(worker), self.settings().lease).await?;
        }
        Ok(())
    }

    /// Finds the command that an event is about.
    async fn reported_command(
        &self,
        execution: ExecutionId,
        item: &PostedItem,
    ) -> Result<Issued, PostEventError> {
        let command_id = command_named(item).ok_or(PostEventError::NoCommandId)?;
        let event = issued_by(command_id)
            .ok_or_else(|| PostEventError::InvalidCommandId(command_id.to_owned()))?;
        let issued = self.find_issued(event).await?;
        if issued.execution != execution {
            let command_id = command_id.to_owned();
            return Err(PostEventError::OtherExecution { command_id, execution });
        }
        Ok(issued)
    }

    /// Ends a command with the result of its tool, or parks it until the callback of its job.
    async fn apply_returned(
        &self,
        issued: &Issued,
        item: &PostedItem,
        returned: Returned,
    ) -> Result<(), PostEventError> {
        match returned {
            Returned::Ended { outcome, logs } => {
                self.end_command(issued, item, outcome, logs).await
            }
            Returned::Pending => {
                let (attempt, worker) = self.reporter_of(issued, item).await?;
                let Issued { execution, command, .. } = *issued;
                let held = Held { execution, command, attempt };
                answered(self.control().park(held, &worker).await?, command)
            }
        }
    }

    /// Ends a command with the outcome that its worker reports.
    async fn end_command(
        &self,
        issued: &Issued,
        item: &PostedItem,
        outcome: Outcome,
        logs: Logs,
    ) -> Result<(), PostEventError> {
        let (attempt, worker) = self.reporter_of(issued, item).await?;
        let (execution, command) = (issued.execution, issued.command);
        let report = Report { execution, command, attempt, worker, outcome, logs, next: None };
        answered(self.control().report(report).await?, command)
    }

    /// Returns the attempt and the worker that an event about a command comes from.
    async fn reporter_of(
        &self,
        issued: &Issued,
        item: &PostedItem,
    ) -> Result<(Attempt, WorkerId), PostEventError> {
        let event = issued.recorded.event_id;
        let worker = item.worker_id.as_ref().map(WorkerId::new);
        let cached: Option<(Attempt, WorkerId)> =
            worker.as_ref().and_then(|it| Some((self.seen().attempt(event, it)?, it.clone())));
        match cached {
            Some(cached) => Ok(cached),
            None => {
                let found = self.attempt_of(issued, worker.as_ref()).await?;
                found.ok_or(PostEventError::NotClaimed)
            }
        }
    }

    /// Records an event that has no further effect; an event with an id is recorded once.
    async fn record_fact(
        &self,
        execution: ExecutionId,
        item: PostedItem,
        event_id: i64,
    ) -> Result<(), PostEventError> {
        let has_id = item.event_id.is_some();
        let input = fact_of(item, event_id)?;
        let rewinds = self.control().rewinds();
        if has_id && self.seen().was_posted(execution, event_id, rewinds) {
            return Ok(());
        }
        match self.control().submit(execution, input).await? {
            MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_) => {}
            MailboxAnswer::Refused(refusal) => return Err(PostEventError::Refused(refusal)),
        }
        self.seen().posted(execution, event_id, rewinds);
        Ok(())
    }
}

fn answered(answer: ReportAnswer, command: CommandId) -> Result<(), PostEventError> {
    match answer {
        ReportAnswer::Accepted | ReportAnswer::Continued(_) => Ok(()),
        ReportAnswer::Superseded => Err(PostEventError::Superseded),
        ReportAnswer::Unknown => Err(PostEventError::UnknownCommand(command.to_string())),
        ReportAnswer::Refused { reason } => Err(PostEventError::ReportRefused(reason)),
    }
}
