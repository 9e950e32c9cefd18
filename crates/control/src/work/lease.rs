//! Leases: claiming commands for workers, and heartbeats.
//!
//! Ready commands are read from the queue, but a claim is an input like any other: the event, the
//! lease and the answer belong to one commit, and the engine refuses the slower of two claims. A
//! waiting worker gets the next command of its pool in the commit that issues it, and polls only if
//! something may have changed.

use std::time::Duration;

use futures::future::join_all;
use noetl_engine::{Execution, Input, OpenHolder, Refusal};
use noetl_model::{
    Attempt, CommandId, ExecutionId, HeartbeatAnswer, Held, Lease, LeaseScope, LostReason, Pool,
    WorkerId,
};
use noetl_store::{HeldAnswer, PAGE_MAX, ReadyCommand, StoreError};
use tokio::time::Instant;

use crate::work::ready_poll::ReadyPoll;
use crate::work::reservations::{ASIDE, RowReservation};
use crate::{Control, MailboxAnswer};

/// The longest time a worker waits before it has to ask again.
const LEASE_WAIT_MAX: Duration = Duration::from_secs(300);

/// The number of immediate retries if no ready command could be claimed.
const LOOKS_MAX: u32 = 16;

/// The key of a queued command and its attempt.
pub(crate) type ReadyKey = (ExecutionId, CommandId, Attempt);

impl Control {
    /// Leases up to `max` commands of a pool to a worker. Returns as soon as there is one, or an
    /// empty list after `wait`.
    pub async fn lease(
        &self,
        worker: &WorkerId,
        pool: &Pool,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Lease>, StoreError> {
        self.lease_from(LeaseScope::All, worker, pool, max, wait).await
    }

    /// Does the same as `lease` for the executions of a scope.
    pub async fn lease_from(
        &self,
        scope: LeaseScope,
        worker: &WorkerId,
        pool: &Pool,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Lease>, StoreError> {
        match scope {
            LeaseScope::All => self.lease_of_all(worker, pool, max, wait).await,
            LeaseScope::Idle => self.lease_of_idle(worker, pool, max, wait).await,
        }
    }

    /// Leases commands of executions of which no worker holds a command. Polls once: commands
    /// issued afterwards are leased in the commit that issues them, or to other slots.
    async fn lease_of_idle(
        &self,
        worker: &WorkerId,
        pool: &Pool,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Lease>, StoreError> {
        let deadline = Instant::now() + wait.min(LEASE_WAIT_MAX);
        let claims = self.claim_ready(LeaseScope::Idle, worker, pool, max).await?;
        let claimed: Vec<Lease> = claims.into_iter().flatten().collect();
        if !claimed.is_empty() {
            return Ok(claimed);
        }
        let waiting = self.wait_in(pool, LeaseScope::Idle, worker, max);
        tokio::select! {
            biased;
            () = waiting.filled() => {}
            () = tokio::time::sleep_until(deadline) => {}
        }
        Ok(waiting.close().await)
    }

    async fn lease_of_all(
        &self,
        worker: &WorkerId,
        pool: &Pool,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Lease>, StoreError> {
        let deadline = Instant::now() + wait.min(LEASE_WAIT_MAX);
        let kept = self.parts.ready_polls.take(pool);
        let mut poll = kept.unwrap_or_else(|| ReadyPoll::new(pool, self.parts.bus.subscribe()));
        let mut looks = 0;
        loop {
            if poll.is_due() {
                let claims = self.claim_ready(LeaseScope::All, worker, pool, max).await?;
                let found_none = claims.is_empty();
                let leases: Vec<Lease> = claims.into_iter().flatten().collect();
                if !leases.is_empty() || Instant::now() >= deadline {
                    return Ok(leases);
                }
                if !found_none && looks < LOOKS_MAX {
                    // Unclaimable rows are set aside; there may be others behind them.
                    looks += 1;
                    tokio::task::yield_now().await;
                    continue;
                }
                looks = 0;
                poll.rest_until(Instant::now() + self.parts.settings.poll);
            }
            let waiting = self.wait_in(pool, LeaseScope::All, worker, max);
            tokio::select! {
                biased;
                () = waiting.filled() => {}
                () = poll.due() => {}
                () = tokio::time::sleep_until(deadline) => {}
            }
            let leases = waiting.close().await;
            if !leases.is_empty() || Instant::now() >= deadline {
                self.parts.ready_polls.leave(poll);
                return Ok(leases);
            }
        }
    }

    /// Extends the leases of a worker's commands; one answer for each, in order.
    pub async fn heartbeat(&self, held: &[Held]) -> Result<Vec<HeartbeatAnswer>, StoreError> {
        let lease = self.parts.settings.lease;
        let until = self.parts.stamps.now().after(lease);
        let answers = self.parts.store.extend(held, lease).await?;
        Ok(answers
            .into_iter()
            .map(|answer| match answer {
                HeldAnswer::Extended => HeartbeatAnswer::Extended { until },
                HeldAnswer::Superseded => HeartbeatAnswer::Lost(LostReason::Superseded),
                HeldAnswer::Gone => HeartbeatAnswer::Lost(LostReason::Finished),
            })
            .collect())
    }

    /// Claims up to `max` ready commands; `None` for each that could not be claimed.
    async fn claim_ready(
        &self,
        scope: LeaseScope,
        worker: &WorkerId,
        pool: &Pool,
        max: usize,
    ) -> Result<Vec<Option<Lease>>, StoreError> {
        let taken = self.take_ready(scope, pool, max).await?;
        Ok(join_all(taken.into_iter().map(|(row, in_hand)| self.claim(worker, row, in_hand))).await)
    }

    /// Reserves up to `max` ready commands of a pool, continuing the pool's round-robin.
    pub(crate) async fn take_ready(
        &self,
        scope: LeaseScope,
        pool: &Pool,
        max: usize,
    ) -> Result<Vec<(ReadyCommand, RowReservation<'_, ReadyKey>)>, StoreError> {
        if self.is_pool_paused(pool).await? {
            return Ok(Vec::new());
        }
        let (claims, rounds) = (&self.parts.claims, &self.parts.round_robin);
        // One more than needed shows if another execution has to wait.
        let limit = max.saturating_add(claims.held()).saturating_add(1).min(PAGE_MAX);
        let ready = self.parts.store.ready(pool, rounds.last(pool), limit).await?;
        let mut taken = Vec::new();
        let mut left = Vec::new();
        for row in ready {
            if scope == LeaseScope::Idle && self.has_leases(row.execution) {
                continue;
            }
            if taken.len() == max {
                left.push((row.execution, row.priority));
            } else if let Some(in_hand) = claims.take((row.execution, row.command, row.attempt)) {
                rounds.served(pool, row.execution);
                taken.push((row, in_hand));
            }
        }
        for (execution, priority) in left {
            rounds.waits(pool, execution, priority);
        }
        Ok(taken)
    }

    /// True if a worker is known to hold a command of the execution.
    fn has_leases(&self, execution: ExecutionId) -> bool {
        self.parts.states.get(execution).is_some_and(|state| has_leases(&state))
    }

    async fn claim(
        &self,
        worker: &WorkerId,
        row: ReadyCommand,
        in_hand: RowReservation<'_, ReadyKey>,
    ) -> Option<Lease> {
        let (execution, command) = (row.execution, row.command);
        let claim = Input::Claim {
            command,
            attempt: row.attempt.next(),
            worker: worker.clone(),
            lease: self.parts.settings.lease,
            after: None,
        };
        match self.submit(execution, claim).await {
            Ok(MailboxAnswer::Leased(lease) | MailboxAnswer::HandedOver(lease)) => Some(*lease),
            Ok(MailboxAnswer::Refused(Refusal::AlreadyClaimed(_) | Refusal::Blocked(_))) => {
                in_hand.set_aside(self.parts.settings.poll);
                None
            }
            Ok(MailboxAnswer::Accepted) => {
                in_hand.set_aside(ASIDE);
                None
            }
            // A worker of another server was faster; if the command stays ready, the sweeper
            // reports it.
            Ok(MailboxAnswer::Refused(refusal)) => {
                tracing::debug!(%execution, %command, %refusal, "command cannot be claimed");
                in_hand.set_aside(ASIDE);
                None
            }
            Err(error) => {
                in_hand.set_aside(self.aside_after(&error));
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %command, "cannot claim a command");
                None
            }
        }
    }
}

/// True if a worker holds a command of the execution.
pub(crate) fn has_leases(state: &Execution) -> bool {
    state.open_commands().any(|(_, _, holder)| match holder {
        OpenHolder::Worker(_) => true,
        OpenHolder::Nobody
        | OpenHolder::Child
        | OpenHolder::Callback
        | OpenHolder::Wait
        | OpenHolder::Blocked => false,
    })
}
