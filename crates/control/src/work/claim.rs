//! Claims of a named command, by workers that are notified of commands instead of leasing them.

use noetl_engine::{HolderStatus, Input, Refusal};
use noetl_model::{Attempt, CommandId, ExecutionId, Held, Lease, WorkerId};

use crate::error::LoadError;
use crate::{Control, MailboxAnswer, SubmitError};

/// The answer to a claim of a named command.
#[derive(Debug, Clone, PartialEq)]
pub enum ClaimAnswer {
    /// The worker holds the command, now or since an earlier claim.
    Leased(Box<Lease>),
    /// Another worker holds the command.
    Taken,
    /// The command cannot be claimed any more.
    Refused(Refusal),
}

impl Control {
    /// Claims a command that is free, already held by the same worker, or held by a worker whose
    /// lease has expired by the store's clock.
    pub async fn claim_named(
        &self,
        execution: ExecutionId,
        command: CommandId,
        worker: &WorkerId,
    ) -> Result<ClaimAnswer, SubmitError> {
        if self.is_in_paused_pool(execution, command).await? {
            return Ok(ClaimAnswer::Taken);
        }
        match self.try_claim(execution, command, worker, Attempt(1)).await? {
            ClaimAnswer::Taken => {}
            answer @ (ClaimAnswer::Leased(_) | ClaimAnswer::Refused(_)) => return Ok(answer),
        }
        let (holder, attempt, lease_until) = match self
            .holder_status(execution, command, Some(worker))
            .await?
        {
            HolderStatus::Worker { worker, attempt, lease_until } => (worker, attempt, lease_until),
            // A second claim of a parked command, also by its own worker, would start a second job.
            HolderStatus::Nobody
            | HolderStatus::Callback { .. }
            | HolderStatus::Ended
            | HolderStatus::EndedContested
            | HolderStatus::Unknown => return Ok(ClaimAnswer::Taken),
        };
        // The worker may have begun and forgotten it: only the first claim may run such a command.
        if holder == *worker && self.is_unrepeatable(execution, command).await? {
            return Ok(ClaimAnswer::Taken);
        }
        if holder == *worker {
            return self.claimed_before(Held { execution, command, attempt }).await;
        }
        if lease_until > self.parts.stamps.now() {
            return Ok(ClaimAnswer::Taken);
        }
        // The lease may have been renewed since; the store decides.
        self.try_claim(execution, command, worker, attempt.next()).await
    }

    /// True if the pool of an open command is paused and no worker holds the command.
    async fn is_in_paused_pool(
        &self,
        execution: ExecutionId,
        command: CommandId,
    ) -> Result<bool, LoadError> {
        let state = self.known_state(execution).await?;
        match state.open_command(command) {
            Some(open) if !state.is_held(command) => {
                let is_paused = self.is_pool_paused(open.pool).await;
                is_paused.map_err(|error| LoadError::of_store(execution, error))
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Extends the lease of a worker that claims its own command again.
    async fn claimed_before(&self, held: Held) -> Result<ClaimAnswer, SubmitError> {
        let extended = self.heartbeat(&[held]).await;
        extended.map_err(|error| LoadError::of_store(held.execution, error))?;
        let lease = self.held_lease(held.execution, held.command).await?;
        let lease = lease.filter(|lease| lease.attempt == held.attempt);
        Ok(lease.map_or(ClaimAnswer::Taken, |lease| ClaimAnswer::Leased(Box::new(lease))))
    }

    async fn try_claim(
        &self,
        execution: ExecutionId,
        command: CommandId,
        worker: &WorkerId,
        attempt: Attempt,
    ) -> Result<ClaimAnswer, SubmitError> {
        let claim = Input::Claim {
            command,
            attempt,
            worker: worker.clone(),
            lease: self.parts.settings.lease,
            after: None,
        };
        match self.submit(execution, claim).await {
            Ok(MailboxAnswer::Leased(lease) | MailboxAnswer::HandedOver(lease)) => {
                Ok(ClaimAnswer::Leased(lease))
            }
            // A paused command is announced again when it can be claimed.
            Ok(MailboxAnswer::Refused(Refusal::AlreadyClaimed(_) | Refusal::Blocked(_))) => {
                Ok(ClaimAnswer::Taken)
            }
            Ok(MailboxAnswer::Refused(refusal)) => Ok(ClaimAnswer::Refused(refusal)),
            // The command had too many attempts and has failed.
            Ok(MailboxAnswer::Accepted) => {
                Ok(ClaimAnswer::Refused(Refusal::CommandFinished(command)))
            }
            // The store keeps refusing: another worker's lease is valid.
            Err(SubmitError::Contended(_)) => Ok(ClaimAnswer::Taken),
            Err(error) => Err(error),
        }
    }
}
