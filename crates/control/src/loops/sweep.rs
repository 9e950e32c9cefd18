//! The sweeper: fails commands whose workers were lost, and finds stalled executions and commands
//! that no worker gets although workers wait.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use noetl_engine::{Input, runs_at_most_once};
use noetl_model::{CommandId, ExecutionId, Held, Pool, Timestamp};
use noetl_store::{PAGE_MAX, ReadyCommand, StoreError};
use tokio_util::sync::CancellationToken;

use crate::tasks::rest;
use crate::work::lease::ReadyKey;
use crate::{Control, LoadError, MailboxAnswer};

/// The largest number of rows per sweep; the next sweep handles the rest.
const SWEEP_MAX: usize = 256;

/// The largest number of pages of expired leases per sweep that are looked through for commands that
/// must not run again.
const EXPIRED_PAGES_MAX: usize = 40;

/// The commands that were ready at the last check although workers waited, by pool, and if their
/// executions were notified.
#[derive(Debug, Default)]
struct Unclaimed {
    pools: BTreeMap<Pool, BTreeMap<ReadyKey, SweepReport>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SweepReport {
    NotYet,
    Yes,
}

impl Unclaimed {
    /// Updates the ready commands of a pool. Returns those that were already ready at the last
    /// check and have not been reported.
    fn look(&mut self, pool: &Pool, ready: Vec<ReadyCommand>) -> Vec<ReadyCommand> {
        let before = self.pools.remove(pool).unwrap_or_default();
        let key = |row: &ReadyCommand| (row.execution, row.command, row.attempt);
        let told = |row: &ReadyCommand| match before.get(&key(row)) {
            None => SweepReport::NotYet,
            Some(SweepReport::NotYet | SweepReport::Yes) => SweepReport::Yes,
        };
        let now = ready.iter().map(|row| (key(row), told(row))).collect();
        self.pools.insert(pool.clone(), now);
        ready
            .into_iter()
            .filter(|row| before.get(&key(row)) == Some(&SweepReport::NotYet))
            .collect()
    }
}

impl Control {
    /// Fails commands whose last lease has expired, until `stop`.
    pub(crate) async fn sweep_leases(self, stop: CancellationToken) {
        let mut repeatable = BTreeSet::new();
        while rest(&stop, self.parts.settings.sweep_every).await {
            let swept = match self.end_exhausted().await {
                Ok(()) => self.end_unrepeatable(&mut repeatable).await,
                Err(error) => Err(error),
            };
            if let Err(error) = swept {
                tracing::warn!(error = &error as &dyn std::error::Error, "leases not swept");
            }
        }
    }

    /// Records stalled executions until `stop`.
    pub(crate) async fn sweep_stalls(self, stop: CancellationToken) {
        let mut unclaimed = Unclaimed::default();
        while rest(&stop, self.parts.settings.stall_after).await {
            if let Err(error) = self.note_stalled().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "stalls not looked for");
            }
            if let Err(error) = self.note_unclaimed(&mut unclaimed).await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "commands that are not claimed not looked for");
            }
        }
    }

    async fn end_exhausted(&self) -> Result<(), StoreError> {
        let attempts_max = self.parts.settings.attempts_max;
        let exhausted = self.parts.store.exhausted(attempts_max, 0, SWEEP_MAX).await?;
        join_all(exhausted.into_iter().map(|held| self.end_lost(held))).await;
        Ok(())
    }

    /// Ends commands of steps that run at most once and whose lease has expired. `repeatable` holds the
    /// expired leases that are known to be of other steps: they wait for their next claim.
    async fn end_unrepeatable(
        &self,
        repeatable: &mut BTreeSet<ReadyKey>,
    ) -> Result<(), StoreError> {
        let known = std::mem::take(repeatable);
        // The leases that stay are skipped; the others leave the list.
        let mut skip = 0;
        for _ in 0..EXPIRED_PAGES_MAX {
            let expired = self.parts.store.exhausted(1, skip, PAGE_MAX).await?;
            let is_last = expired.len() < PAGE_MAX;
            for held in expired {
                let Held { execution, command, attempt } = held;
                let key = (execution, command, attempt);
                if known.contains(&key) {
                    repeatable.insert(key);
                    skip += 1;
                    continue;
                }
                match self.is_unrepeatable(execution, command).await {
                    Ok(true) => self.end_lost(held).await,
                    Ok(false) => {
                        repeatable.insert(key);
                        skip += 1;
                    }
                    Err(error) => {
                        let error: &dyn std::error::Error = &error;
                        tracing::warn!(error, %execution, %command, "expired lease not looked at");
                        skip += 1;
                    }
                }
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// True if a command must not run again when its worker is lost.
    pub(crate) async fn is_unrepeatable(
        &self,
        execution: ExecutionId,
        command: CommandId,
    ) -> Result<bool, LoadError> {
        let state = self.known_state(execution).await?;
        let playbook = self.playbook_of(&state).await?;
        Ok(runs_at_most_once(&state, &playbook, command))
    }

    async fn end_lost(&self, held: Held) {
        let Held { execution, command, attempt } = held;
        match self.submit(execution, Input::LeaseExhausted { command, attempt }).await {
            Ok(
                MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_),
            ) => {
                tracing::warn!(%execution, %command, %attempt, "command lost by its workers");
            }
            // The worker reported at the last moment.
            Ok(MailboxAnswer::Refused(_)) => {}
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %command, "lost command not ended");
            }
        }
    }

    async fn note_stalled(&self) -> Result<(), StoreError> {
        let idle = self.parts.settings.stall_after.as_micros();
        let idle = i64::try_from(idle).unwrap_or(i64::MAX);
        let now = self.parts.stamps.now().as_micros();
        let before = Timestamp::from_micros(now.saturating_sub(idle));
        let stalled = self.parts.store.stalled(before, SWEEP_MAX).await?;
        join_all(stalled.into_iter().map(|execution| self.note_stall(execution))).await;
        Ok(())
    }

    /// Records commands that have been ready since the last check, in pools with waiting workers.
    async fn note_unclaimed(&self, unclaimed: &mut Unclaimed) -> Result<(), StoreError> {
        let awaited = self.parts.idle_workers.awaited();
        unclaimed.pools.retain(|pool, _| awaited.contains(pool));
        for pool in awaited {
            if self.is_pool_paused(&pool).await? {
                unclaimed.pools.remove(&pool);
                continue;
            }
            let ready = self.parts.store.ready(&pool, None, SWEEP_MAX).await?;
            let stuck = unclaimed.look(&pool, ready);
            join_all(stuck.into_iter().map(|row| self.note_not_claimed(row))).await;
        }
        Ok(())
    }

    /// Reloads the execution of a command that no worker gets, and records that it is unclaimed if
    /// no worker holds it.
    async fn note_not_claimed(&self, row: ReadyCommand) {
        let ReadyCommand { execution, command, pool, attempt: _, priority: _ } = row;
        self.parts.states.forget(execution);
        let seconds = self.parts.settings.stall_after.as_secs();
        let detail = format!(
            "command {command} has been ready in pool `{pool}` for {seconds} s or more; workers wait \
             for commands of this pool and none gets it"
        );
        match self.submit(execution, Input::NotClaimed { command, detail }).await {
            Ok(
                MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_),
            ) => {
                tracing::warn!(%execution, %command, %pool, "command ready and not claimed");
            }
            Ok(MailboxAnswer::Refused(_)) => {}
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %command, "unclaimed command not looked at");
            }
        }
        self.parts.claims.clear_aside();
    }

    /// Reloads an execution, and records the stall if it has no open work.
    async fn note_stall(&self, execution: ExecutionId) {
        self.parts.states.forget(execution);
        let detail = "no command is open, no timer is set and no message is pending".to_owned();
        match self.submit(execution, Input::Stalled { detail }).await {
            Ok(
                MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_),
            ) => {
                tracing::warn!(%execution, "execution stalled");
            }
            Ok(MailboxAnswer::Refused(_)) => {}
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, "stalled execution not looked at");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use noetl_model::{Attempt, CommandId, Priority};

    use super::*;

    fn row(command: u64, attempt: u32) -> ReadyCommand {
        ReadyCommand {
            execution: ExecutionId(1),
            command: CommandId(command),
            pool: Pool::shared(),
            attempt: Attempt(attempt),
            priority: Priority::default(),
        }
    }

    /// Checks the commands reported at each of several checks.
    #[track_caller]
    fn check(looks: &[&[(u64, u32)]], expected: &[&[u64]]) {
        let mut unclaimed = Unclaimed::default();
        for (look, expected) in looks.iter().zip(expected) {
            let ready = look.iter().map(|(command, attempt)| row(*command, *attempt)).collect();
            let told = unclaimed.look(&Pool::shared(), ready);
            assert_eq!(told.iter().map(|row| row.command.0).collect::<Vec<_>>(), *expected);
        }
    }

    #[test]
    fn a_command_that_is_ready_at_two_looks_is_announced_once() {
        check(&[&[(1, 0)], &[(1, 0), (2, 0)], &[(1, 0), (2, 0)]], &[&[], &[1], &[2]]);
    }

    #[test]
    fn a_command_claimed_in_between_is_not_announced() {
        check(&[&[(1, 0)], &[(1, 1)], &[]], &[&[], &[], &[]]);
        check(&[&[(1, 0)], &[], &[(1, 0)]], &[&[], &[], &[]]);
    }
}
