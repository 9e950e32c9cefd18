//! Forms that act on one execution: cancel, pause, resume, retry from the failure, run again.

use std::collections::BTreeMap;

use axum::extract::Path;
use noetl_app::{EndError, ForkPlaybook, PauseError};
use noetl_control::{ForkAt, ForkError, ForkRequest, RegisterError};
use noetl_model::{ChildExecutions, ExecutionId};
use serde_json::Map;

use crate::components::id::execution_address;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::request::PageRequest;
use crate::response::{PageResult, see};

pub(in crate::pages) async fn cancel(
    page: PageRequest,
    Path(id): Path<String>,
    form: SignedForm,
) -> PageResult {
    let execution = execution_of(&id)?;
    let reason = form.given("reason").map(str::to_owned);
    page.app().cancel(execution, reason, ChildExecutions::Cancelled, page.actor()).await?;
    Ok(see(form.get("return_to")))
}

pub(in crate::pages) async fn pause(
    page: PageRequest,
    Path(id): Path<String>,
    form: SignedForm,
) -> PageResult {
    page.app().pause_execution(execution_of(&id)?, page.pause_caller(&form)).await?;
    Ok(see(form.get("return_to")))
}

pub(in crate::pages) async fn resume(
    page: PageRequest,
    Path(id): Path<String>,
    form: SignedForm,
) -> PageResult {
    page.app().resume_execution(execution_of(&id)?, page.pause_caller(&form)).await?;
    Ok(see(form.get("return_to")))
}

pub(in crate::pages) async fn retry(
    page: PageRequest,
    Path(id): Path<String>,
    _form: SignedForm,
) -> PageResult {
    let request = ForkRequest {
        origin: execution_of(&id)?,
        at: ForkAt::Failure,
        playbook: None,
        workload: Map::new(),
        context: BTreeMap::new(),
        actor: page.actor(),
    };
    let fork = page.app().fork(request, ForkPlaybook::Registered).await?;
    Ok(see(&execution_address(fork.execution)))
}

pub(in crate::pages) async fn rerun(
    page: PageRequest,
    Path(id): Path<String>,
    _form: SignedForm,
) -> PageResult {
    let original = execution_of(&id)?;
    let started = page.app().rerun(original, None, page.actor()).await?;
    Ok(see(&execution_address(started.execution)))
}

fn execution_of(text: &str) -> Result<ExecutionId, PageError> {
    text.parse().map_err(|_| PageError::UnknownPage)
}

impl From<PauseError> for PageError {
    fn from(error: PauseError) -> Self {
        match error {
            PauseError::ActorTooLong
            | PauseError::ReasonTooLong
            | PauseError::TooMany(_)
            | PauseError::Refused(_) => Self::Refused(error.to_string()),
            PauseError::UnknownPlaybook(_) => Self::NotFound(error.to_string()),
            PauseError::Submit(error) => error.into(),
            PauseError::Store(error) => error.into(),
        }
    }
}

impl From<EndError> for PageError {
    fn from(error: EndError) -> Self {
        match error {
            EndError::ReasonTooLong | EndError::NotAnEnd | EndError::Refused(_) => {
                Self::Refused(error.to_string())
            }
            EndError::Submit(error) => error.into(),
            EndError::Store(error) => error.into(),
        }
    }
}

impl From<ForkError> for PageError {
    fn from(error: ForkError) -> Self {
        match error {
            ForkError::UnknownEvent(..)
            | ForkError::NotFailed { .. }
            | ForkError::TooManyForks(_) => Self::Refused(error.to_string()),
            ForkError::Unforkable(source) => Self::Refused(source.to_string()),
            ForkError::Register(error) => error.into(),
            ForkError::Start(error) => error.into(),
        }
    }
}

impl From<RegisterError> for PageError {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::SecretPayload { .. } => Self::Refused(error.to_string()),
            RegisterError::Invalid(problems) => Self::Refused(problems.headline()),
            RegisterError::Subscription(error) => error.into(),
            RegisterError::Schedule(error) => error.into(),
            RegisterError::Store(error) => error.into(),
        }
    }
}
