//! Ending executions: cancelling, finalizing, and cancelling those that run for too long.

use std::time::Duration;

use noetl_control::{MailboxAnswer, SubmitError};
use noetl_engine::Refusal;
use noetl_model::{Actor, ChildExecutions, ExecutionId, ExecutionStatus};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page, StoreError};

use crate::app::App;

/// Maximum number of descendants that a cancellation lists.
const NAMED_MAX: usize = 1000;
/// Maximum number of executions that one cleanup considers.
const CLEANUP_MAX: usize = 10_000;
/// Maximum length of a reason, in bytes.
const REASON_MAX: usize = 1000;

/// The reason why an execution is not ended.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    #[error("a reason has at most {REASON_MAX} bytes")]
    ReasonTooLong,
    #[error("an execution is finalized as COMPLETED or FAILED")]
    NotAnEnd,
    #[error(transparent)]
    Refused(Refusal),
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The treatment of executions that run for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldExecutions {
    Cancel,
    List,
}

impl App {
    /// Cancels an execution with its open commands and, by `below`, its descendants; returns the
    /// execution and the descendants that were running.
    pub async fn cancel(
        &self,
        execution: ExecutionId,
        reason: Option<String>,
        below: ChildExecutions,
        actor: Option<Actor>,
    ) -> Result<Vec<ExecutionId>, EndError> {
        let reason = reason_of(reason, "cancelled by request")?;
        self.execution(execution).await.map_err(SubmitError::Load)?;
        let mut cancelled = vec![execution];
        if below.is_cancelled() {
            cancelled.extend(self.running_below(execution).await?);
        }
        accepted(self.control().cancel_with(execution, reason, below, actor).await?)?;
        Ok(cancelled)
    }

    /// Ends an execution manually, as completed or failed. An execution that has ended so already
    /// stays as it is.
    pub async fn finalize(
        &self,
        execution: ExecutionId,
        status: ExecutionStatus,
        reason: Option<String>,
        actor: Option<Actor>,
    ) -> Result<(), EndError> {
        match status {
            ExecutionStatus::Completed | ExecutionStatus::Failed => {}
            ExecutionStatus::Running | ExecutionStatus::Cancelled => {
                return Err(EndError::NotAnEnd);
            }
        }
        let reason = reason_of(reason, "finalized by request")?;
        self.execution(execution).await.map_err(SubmitError::Load)?;
        match accepted(self.control().finalize(execution, status, reason, actor).await?) {
            Err(EndError::Refused(Refusal::Finished(ended))) if ended == status => Ok(()),
            result => result,
        }
    }

    /// Cancels or lists the executions that have been running for longer than `minutes`.
    pub async fn end_old_executions(
        &self,
        minutes: u64,
        treatment: OldExecutions,
    ) -> Result<Vec<ExecutionId>, EndError> {
        let age = Duration::from_secs(minutes.saturating_mul(60));
        let mut ended = Vec::new();
        for execution in self.running_for(age).await? {
            match treatment {
                OldExecutions::List => {}
                OldExecutions::Cancel => {
                    let reason = format!("ran for more than {minutes} minutes");
                    match self.control().cancel(execution, reason).await? {
                        MailboxAnswer::Accepted
                        | MailboxAnswer::Leased(_)
                        | MailboxAnswer::HandedOver(_) => {}
                        MailboxAnswer::Refused(_) => continue,
                    }
                }
            }
            ended.push(execution);
        }
        Ok(ended)
    }

    /// Returns the running descendants of an execution.
    async fn running_below(&self, execution: ExecutionId) -> Result<Vec<ExecutionId>, StoreError> {
        let mut found: Vec<ExecutionId> = Vec::new();
        let mut parents = vec![execution];
        while let Some(parent) = parents.pop() {
            let filter = ExecutionFilter {
                parent: Some(parent),
                status: Some(ExecutionStatus::Running),
                ..Default::default()
            };
            let mut before = None;
            loop {
                let page = Page { before, limit: PAGE_MAX };
                let children = self.control().list(&filter, page).await?;
                before = children.last().map(|child| child.execution);
                let is_last = children.len() < PAGE_MAX;
                let children = children.into_iter().map(|child| child.execution);
                let room = NAMED_MAX - found.len();
                let children: Vec<ExecutionId> = children.take(room).collect();
                found.extend(&children);
                parents.extend(children);
                if found.len() == NAMED_MAX {
                    return Ok(found);
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Returns the executions that have been running for longer than `age`, newest first.
    async fn running_for(&self, age: Duration) -> Result<Vec<ExecutionId>, StoreError> {
        let status = Some(ExecutionStatus::Running);
        let filter = ExecutionFilter { status, ..Default::default() };
        let now = self.now();
        let (mut old, mut before) = (Vec::new(), None);
        for _page in 0..CLEANUP_MAX / PAGE_MAX {
            let page = Page { before, limit: PAGE_MAX };
            let running = self.control().list(&filter, page).await?;
            before = running.last().map(|summary| summary.execution);
            let is_last = running.len() < PAGE_MAX;
            let long = running.into_iter().filter(|summary| now.since(summary.started_at) > age);
            old.extend(long.map(|summary| summary.execution));
            if is_last {
                break;
            }
        }
        Ok(old)
    }
}

fn accepted(answer: MailboxAnswer) -> Result<(), EndError> {
    match answer {
        MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_) => Ok(()),
        MailboxAnswer::Refused(refusal) => Err(EndError::Refused(refusal)),
    }
}

fn reason_of(reason: Option<String>, otherwise: &str) -> Result<String, EndError> {
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let reason = reason.unwrap_or_else(|| otherwise.to_owned());
    if reason.len() > REASON_MAX {
        return Err(EndError::ReasonTooLong);
    }
    Ok(reason)
}
