//! Commands by the event that issued them: show, claim, and find the attempt of a worker.

use noetl_compat::{AttemptSource, ClaimedCommand, Issued, LatestClaim, claimed_command};
use noetl_control::{ClaimAnswer, LoadError, PayloadError, SubmitError};
use noetl_engine::Refusal;
use noetl_model::{Attempt, Bindings, EventId, Lease, Payload, Pool, WorkerId};
use noetl_store::{READ_EVENTS_MAX, StoreError};
use serde_json::{Map, Value};

use crate::app::App;

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
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// Loads the command that an event issued; its configuration is included only while a worker
    /// holds it.
    pub async fn issued_command(
        &self,
        event: EventId,
    ) -> Result<ClaimedCommand, IssuedCommandError> {
        let issued = self.find_issued(event).await?;
        let lease = self.control().held_lease(issued.execution, issued.command).await?;
        self.for_worker(&issued, lease.as_ref()).await
    }

    /// Claims the command that an event issued for a worker, unless another worker holds it.
    pub async fn claim_issued(
        &self,
        event: EventId,
        worker: &WorkerId,
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
        self.for_worker(&issued, Some(&lease)).await
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

    /// Converts a command to the form of existing workers.
    async fn for_worker(
        &self,
        issued: &Issued,
        lease: Option<&Lease>,
    ) -> Result<ClaimedCommand, IssuedCommandError> {
        Ok(claimed_command(issued, lease, self.bound_values(&issued.bindings).await?))
    }

    /// Loads the values that a command's templates refer to, including those stored by reference.
    async fn bound_values(&self, bindings: &Bindings) -> Result<Map<String, Value>, PayloadError> {
        let mut values = Map::new();
        for (name, payload) in &bindings.0 {
            let value = match payload {
                Payload::Inline(value) => (**value).clone(),
                Payload::Ref(reference) => {
                    (*self.control().payload(reference.digest).await?).clone()
                }
            };
            values.insert(name.clone(), value);
        }
        Ok(values)
    }
}
