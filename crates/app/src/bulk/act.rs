//! The action of a bulk job on one execution.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use noetl_control::{ForkAt, ForkError, ForkRequest, LoadError, StartError, SubmitError};
use noetl_engine::Refusal;
use noetl_model::{ChildExecutions, ExecutionId, ExecutionStatus};
use noetl_store::{
    BULK_MESSAGE_MAX, BulkAction, BulkItem, BulkJob, BulkOutcome, StartKey, StoreError,
};
use serde_json::Map;

use crate::app::App;
use crate::executions::EndError;
use crate::retention::DeleteError;

/// Retention of the key under which a job starts an execution; longer than a job runs.
const KEY_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The reason of a cancellation without one.
const CANCELLED: &str = "cancelled by a bulk job";

/// The result of an action.
pub(super) enum ActionEnd {
    Ended(BulkItem),
    /// The store or the workers cannot take it now; the action is tried again.
    Later(String),
}

/// The reason why an action has no effect.
enum NoEffect {
    Unchanged(String),
    Failed(String),
    Later(String),
}

impl App {
    /// Acts on one execution of a job.
    pub(super) async fn act_in_bulk(&self, job: &BulkJob, execution: ExecutionId) -> ActionEnd {
        let acted = match job.action {
            BulkAction::Cancel => self.cancel_in_bulk(job, execution).await.map(|()| None),
            BulkAction::Retry => self.retry_in_bulk(job, execution).await.map(Some),
            BulkAction::Rerun => self.rerun_in_bulk(job, execution).await.map(Some),
            BulkAction::Delete => self.delete_in_bulk(job, execution).await.map(|()| None),
        };
        let item = |outcome, started, message: Option<String>| {
            let message = message.map(|text| text.chars().take(BULK_MESSAGE_MAX).collect());
            ActionEnd::Ended(BulkItem { execution, outcome, started, message })
        };
        match acted {
            Ok(started) => item(BulkOutcome::Done, started, None),
            Err(NoEffect::Unchanged(why)) => item(BulkOutcome::Unchanged, None, Some(why)),
            Err(NoEffect::Failed(why)) => item(BulkOutcome::Failed, None, Some(why)),
            Err(NoEffect::Later(why)) => ActionEnd::Later(why),
        }
    }

    async fn cancel_in_bulk(&self, job: &BulkJob, execution: ExecutionId) -> Result<(), NoEffect> {
        let reason = job.reason.clone().unwrap_or_else(|| CANCELLED.to_owned());
        match self
            .cancel(execution, Some(reason), ChildExecutions::Cancelled, job.actor.clone())
            .await
        {
            Ok(_) => Ok(()),
            // Cancelled by an earlier try of this job, or by somebody else meanwhile.
            Err(EndError::Refused(Refusal::Finished(ExecutionStatus::Cancelled))) => Ok(()),
            Err(EndError::Refused(Refusal::Finished(status))) => {
                Err(NoEffect::Unchanged(format!("execution {execution} is {status}")))
            }
            Err(EndError::Submit(error)) => Err(of_submit(&error)),
            Err(EndError::Store(error)) => Err(of_store(&error)),
            Err(error @ (EndError::Refused(_) | EndError::ReasonTooLong | EndError::NotAnEnd)) => {
                Err(NoEffect::Failed(chain(&error)))
            }
        }
    }

    async fn retry_in_bulk(
        &self,
        job: &BulkJob,
        execution: ExecutionId,
    ) -> Result<ExecutionId, NoEffect> {
        self.check_applies(job, execution).await?;
        let request = ForkRequest {
            origin: execution,
            at: ForkAt::Failure,
            playbook: None,
            workload: Map::new(),
            context: BTreeMap::new(),
            actor: job.actor.clone(),
        };
        match self.control().fork_under(request, key_of(job, execution)).await {
            Ok(fork) => Ok(fork),
            Err(ForkError::Start(error)) => started_before(error),
            Err(error @ ForkError::NotFailed { .. }) => Err(NoEffect::Unchanged(chain(&error))),
            Err(
                error @ (ForkError::UnknownEvent(..)
                | ForkError::TooManyForks(_)
                | ForkError::Unforkable(_)
                | ForkError::Register(_)),
            ) => Err(NoEffect::Failed(chain(&error))),
        }
    }

    async fn rerun_in_bulk(
        &self,
        job: &BulkJob,
        execution: ExecutionId,
    ) -> Result<ExecutionId, NoEffect> {
        self.check_applies(job, execution).await?;
        match self.control().rerun_under(execution, key_of(job, execution), job.actor.clone()).await
        {
            Ok(started) => Ok(started),
            Err(error) => started_before(error),
        }
    }

    async fn delete_in_bulk(&self, job: &BulkJob, execution: ExecutionId) -> Result<(), NoEffect> {
        match self.delete_execution(execution, job.actor.clone()).await {
            // Deleted by an earlier try of this job, or by somebody else meanwhile.
            Ok(_) | Err(DeleteError::Load(LoadError::Deleted { .. })) => Ok(()),
            Err(error @ DeleteError::Kept { .. }) => Err(NoEffect::Unchanged(chain(&error))),
            Err(error @ DeleteError::ReasonTooLong) => Err(NoEffect::Failed(chain(&error))),
            Err(DeleteError::Load(error)) => Err(of_load(&error)),
            Err(DeleteError::Store(error)) => Err(of_store(&error)),
        }
    }

    /// Refuses an execution to which the action of the job does not apply.
    async fn check_applies(&self, job: &BulkJob, execution: ExecutionId) -> Result<(), NoEffect> {
        let summary = self.execution(execution).await.map_err(|error| of_load(&error))?;
        match job.action.applies_to(summary.status) {
            true => Ok(()),
            false => {
                Err(NoEffect::Unchanged(format!("execution {execution} is {}", summary.status)))
            }
        }
    }
}

/// Returns the key under which a job starts an execution for another one, once.
fn key_of(job: &BulkJob, execution: ExecutionId) -> StartKey {
    let name = format!("{}/{execution}", job.id);
    StartKey { scope: "bulk".to_owned(), name, keep: KEY_KEPT, request: None }
}

/// Returns the execution that an earlier try has started.
fn started_before(error: StartError) -> Result<ExecutionId, NoEffect> {
    match error {
        StartError::KeyTaken(holder) => Ok(holder.execution),
        StartError::BacklogFull(_) => Err(NoEffect::Later(chain(&error))),
        StartError::Submit(error) => Err(of_submit(&error)),
        StartError::UnknownPlaybook(_)
        | StartError::ArchivedPlaybook(_)
        | StartError::AmbiguousName(_)
        | StartError::TooDeep { .. }
        | StartError::InvalidInputs(_)
        | StartError::CredentialNotPermitted(_)
        | StartError::ParentCancelled(_)
        | StartError::PayloadTooLarge
        | StartError::PayloadTooNested
        | StartError::Refused(_) => Err(NoEffect::Failed(chain(&error))),
    }
}

fn of_submit(error: &SubmitError) -> NoEffect {
    match error {
        SubmitError::Load(error) => of_load(error),
        SubmitError::Busy(_) | SubmitError::Contended(_) | SubmitError::Stopped => {
            NoEffect::Later(chain(error))
        }
    }
}

fn of_load(error: &LoadError) -> NoEffect {
    match error {
        LoadError::Unavailable(_) => NoEffect::Later(chain(error)),
        LoadError::NotFound(_)
        | LoadError::Deleted { .. }
        | LoadError::NotNative { .. }
        | LoadError::Rewound { .. }
        | LoadError::Corrupt { .. } => NoEffect::Failed(chain(error)),
    }
}

fn of_store(error: &StoreError) -> NoEffect {
    match error {
        StoreError::Unavailable(_)
        | StoreError::TimedOut { .. }
        | StoreError::OutOfReach { .. }
        | StoreError::Unwritable { .. } => NoEffect::Later(chain(error)),
        StoreError::Corrupt { .. } => NoEffect::Failed(chain(error)),
    }
}

/// Returns an error with its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
