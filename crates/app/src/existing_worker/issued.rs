//! Commands by the event that issued them: show, claim, and find the attempt of a worker.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_compat::{
    AttemptSource, ClaimedCommand, Issued, LatestClaim, WorkerCommand, check_fetched,
    claimed_command, worker_command,
};
use noetl_control::{ClaimAnswer, LoadError, PayloadError, SubmitError};
use noetl_engine::Refusal;
use noetl_expr::CommandFacts;
use noetl_model::{
    Attempt, ErrorKind, EventId, Lease, Logs, Outcome, Payload, Pool, Report, ToolError, WorkerId,
    holds_sealed,
};
use noetl_store::{READ_EVENTS_MAX, StoreError};

use crate::app::App;
use crate::sealed_inputs::{masked_value, opened_value};

/// The reason why a command is not shown or not claimed.
#[derive(Debug, thiserror::Error)]
pub enum IssuedCommandError {
    #[error("event {0} did not issue a command")]
    UnknownEvent(EventId),
    #[error("this command is run by the control plane, not by workers")]
    ControlPool,
    #[error("another worker holds this command")]
    Held,
    #[error(transparent)]
    Refused(Refusal),
    #[error("the command has failed: {0}")]
    Unrendered(ToolError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The form of secret inputs in a command that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretInputs {
    /// The clear text, for workers.
    Opened,
    /// A mask, for readers.
    Masked,
}

impl From<ToolError> for IssuedCommandError {
    fn from(error: ToolError) -> Self {
        Self::Unrendered(error)
    }
}

impl App {
    /// Loads the command that an event issued; its configuration is included only while a worker
    /// holds it, and secret inputs in it only for a reader who could be that worker.
    pub async fn issued_command(
        &self,
        event: EventId,
        server_url: &str,
        secrets: SecretInputs,
    ) -> Result<ClaimedCommand, IssuedCommandError> {
        let issued = self.find_issued(event).await?;
        let lease = self.control().held_lease(issued.execution, issued.command).await?;
        let Some(lease) = lease else { return Ok(claimed_command(&issued, None)) };
        let facts = CommandFacts::new(&lease, None, Some(server_url));
        let command = self.rendered_command(&lease, &facts, secrets).await?;
        Ok(claimed_command(&issued, Some((&lease, command))))
    }

    /// Claims the command that an event issued for a worker, unless another worker holds it. A
    /// command that cannot be rendered fails.
    pub async fn claim_issued(
        &self,
        event: EventId,
        worker: &WorkerId,
        server_url: &str,
    ) -> Result<ClaimedCommand, IssuedCommandError> {
        let issued = self.find_issued(event).await?;
        if issued.pool == Pool::control() {
            return Err(IssuedCommandError::ControlPool);
        }
        let claim = self.control().claim_named(issued.execution, issued.command, worker).await?;
        let lease = match claim {
            ClaimAnswer::Leased(lease) => lease,
            ClaimAnswer::Taken => return Err(IssuedCommandError::Held),
            ClaimAnswer::Refused(refusal) => return Err(IssuedCommandError::Refused(refusal)),
        };
        self.seen().claimed(issued.recorded.event_id, worker, lease.attempt);
        let facts = CommandFacts::new(&lease, Some(worker.as_str()), Some(server_url));
        match self.rendered_command(&lease, &facts, SecretInputs::Opened).await {
            Ok(command) => Ok(claimed_command(&issued, Some((&lease, command)))),
            Err(IssuedCommandError::Unrendered(error)) => {
                self.fail_unrendered(&lease, worker, error.clone()).await?;
                Err(IssuedCommandError::Unrendered(error))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn find_issued(&self, event: EventId) -> Result<Issued, IssuedCommandError> {
        let found = self.store().find(event).await?;
        let issued = found.and_then(|(execution, recorded)| Issued::of(execution, recorded));
        issued.ok_or(IssuedCommandError::UnknownEvent(event))
    }

    /// Returns the attempt, and its worker, under which `by` (or the last worker) holds or held a
    /// command.
    pub(super) async fn attempt_of(
        &self,
        issued: &Issued,
        by: Option<&WorkerId>,
    ) -> Result<Option<(Attempt, WorkerId)>, LoadError> {
        let holder = self.control().holder_status(issued.execution, issued.command, by).await?;
        match AttemptSource::of(holder, by) {
            AttemptSource::Known(attempt, worker) => Ok(Some((attempt, worker))),
            AttemptSource::Never => Ok(None),
            AttemptSource::Log => self.attempt_in_log(issued, by).await,
        }
    }

    async fn attempt_in_log(
        &self,
        issued: &Issued,
        by: Option<&WorkerId>,
    ) -> Result<Option<(Attempt, WorkerId)>, LoadError> {
        let mut claim = LatestClaim::new(issued.command, by);
        let mut after = issued.recorded.seq;
        loop {
            let page = self.events(issued.execution, after, READ_EVENTS_MAX).await?;
            page.iter().for_each(|recorded| claim.see(recorded));
            match page.last() {
                Some(last) => after = last.seq,
                None => return Ok(claim.finish()),
            }
        }
    }

    /// Renders a held command for an existing worker, with every value that its templates refer to.
    async fn rendered_command(
        &self,
        lease: &Lease,
        facts: &CommandFacts,
        secrets: SecretInputs,
    ) -> Result<WorkerCommand, IssuedCommandError> {
        check_fetched(&lease.bindings)?;
        let mut values = BTreeMap::new();
        for (name, payload) in &lease.bindings.0 {
            let value = match payload {
                Payload::Inline(value) => value.clone(),
                Payload::Ref(reference) => self.control().payload(reference.digest).await?,
            };
            let value = match (holds_sealed(&value), secrets) {
                (false, SecretInputs::Opened | SecretInputs::Masked) => value,
                (true, SecretInputs::Masked) => Arc::new(masked_value(&value)),
                (true, SecretInputs::Opened) => {
                    let opened =
                        opened_value(self.control(), self.vault(), lease.execution, &value).await;
                    let unreadable = |reason| ToolError::new(ErrorKind::Config, reason);
                    Arc::new(opened.map_err(unreadable)?)
                }
            };
            values.insert(name.clone(), value);
        }
        Ok(worker_command(lease, &values, facts)?)
    }

    /// Ends a command whose templates cannot be rendered, as our own worker does.
    async fn fail_unrendered(
        &self,
        lease: &Lease,
        worker: &WorkerId,
        error: ToolError,
    ) -> Result<(), SubmitError> {
        let report = Report {
            execution: lease.execution,
            command: lease.command,
            attempt: lease.attempt,
            worker: worker.clone(),
            outcome: Outcome::failed(error),
            logs: Logs::default(),
            next: None,
        };
        self.control().report(report).await?;
        Ok(())
    }
}
