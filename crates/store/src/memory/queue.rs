//! In-memory queue of open commands.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use noetl_model::{Attempt, CommandId, ExecutionId, Pool, Priority, Timestamp, WorkerId};

use super::MemoryStore;
use crate::{
    AppendError, Held, HeldAnswer, Holder, LeasedCommand, OpenCommand, PAGE_MAX, QueueChange,
    ReadyCommand, ReadyCount, StagedCommands, StoreError, stage,
};

#[derive(Clone, Default)]
pub(super) struct CommandTable {
    rows: BTreeMap<(ExecutionId, CommandId), MemoryCommand>,
    last_position: u64,
}

#[derive(Clone)]
struct MemoryCommand {
    /// The insertion order of the command.
    position: u64,
    open: OpenCommand,
}

/// The order of the ready commands within an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PlaceWithin {
    Lost { lease_until: Timestamp, position: u64 },
    Fresh { position: u64 },
}

impl CommandTable {
    /// Returns the latest attempt of an open command.
    pub(super) fn attempt_of(&self, command: (ExecutionId, CommandId)) -> Option<Attempt> {
        self.rows.get(&command).map(|row| row.open.attempt)
    }

    pub(super) fn stage(
        &self,
        execution: ExecutionId,
        changes: &[QueueChange],
        now: Timestamp,
    ) -> Result<StagedCommands, AppendError> {
        let current = |command| self.rows.get(&(execution, command)).map(|row| &row.open);
        stage(changes, current, now)
    }

    pub(super) fn commit(&mut self, execution: ExecutionId, staged: StagedCommands) {
        for (command, open) in staged {
            let key = (execution, command);
            match (open, self.rows.get_mut(&key)) {
                (Some(open), Some(row)) => row.open = open,
                (Some(open), None) => {
                    self.last_position += 1;
                    self.rows.insert(key, MemoryCommand { position: self.last_position, open });
                }
                (None, _) => {
                    self.rows.remove(&key);
                }
            }
        }
    }

    /// True if an execution has an open command, including parked ones.
    pub(super) fn any_of(&self, execution: ExecutionId) -> bool {
        let all = (execution, CommandId(0))..=(execution, CommandId(u64::MAX));
        self.rows.range(all).next().is_some()
    }

    /// Returns the open commands of an execution.
    pub(super) fn of(&self, execution: ExecutionId) -> BTreeMap<CommandId, OpenCommand> {
        let all = (execution, CommandId(0))..=(execution, CommandId(u64::MAX));
        self.rows.range(all).map(|((_, command), row)| (*command, row.open.clone())).collect()
    }

    /// Returns the ready commands of a pool, each with its place within its execution.
    fn ready<'a>(
        &'a self,
        pool: &'a Pool,
        now: Timestamp,
    ) -> impl Iterator<Item = (PlaceWithin, (ExecutionId, CommandId), &'a MemoryCommand)> {
        let in_pool = self.rows.iter().filter(move |(_, row)| row.open.pool == *pool);
        in_pool.filter_map(move |(key, row)| {
            let place = match row.open.holder {
                Holder::Nobody { .. } => PlaceWithin::Fresh { position: row.position },
                Holder::Worker { lease_until, .. } if lease_until <= now => {
                    PlaceWithin::Lost { lease_until, position: row.position }
                }
                Holder::Worker { .. } | Holder::Parked => return None,
            };
            Some((place, *key, row))
        })
    }

    /// Returns the executions of the never-leased commands of a pool.
    fn waiting<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = ExecutionId> {
        let waiting = self.rows.iter().filter(move |(_, row)| {
            row.open.pool == *pool && matches!(row.open.holder, Holder::Nobody { .. })
        });
        waiting.map(|((execution, _), _)| *execution)
    }

    /// Returns the ready commands of a pool, each with its round.
    fn rounds<'a>(
        &'a self,
        pool: &'a Pool,
        now: Timestamp,
    ) -> Vec<(usize, (ExecutionId, CommandId), &'a MemoryCommand)> {
        let mut executions: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (place, key, row) in self.ready(pool, now) {
            let group = (row.open.priority, key.0);
            executions.entry(group).or_default().push((place, key, row));
        }
        let sorted = executions.into_values().flat_map(|mut commands| {
            commands.sort_by_key(|(place, _, _)| *place);
            commands.into_iter().enumerate()
        });
        sorted.map(|(round, (_, key, row))| (round, key, row)).collect()
    }

    fn extend(&mut self, held: &Held, until: Timestamp) -> HeldAnswer {
        let Some(row) = self.rows.get_mut(&(held.execution, held.command)) else {
            return HeldAnswer::Gone;
        };
        let answer = row.open.answer(held.attempt);
        if answer == HeldAnswer::Extended
            && let Holder::Worker { lease_until, .. } = &mut row.open.holder
        {
            *lease_until = until;
        }
        answer
    }

    fn renew(&mut self, alive: &WorkerId, until: Timestamp) -> u64 {
        let mut renewed = 0;
        for row in self.rows.values_mut() {
            if let Holder::Worker { worker, lease_until } = &mut row.open.holder
                && worker == alive
            {
                *lease_until = until;
                renewed += 1;
            }
        }
        renewed
    }

    fn release(&mut self, gone: &WorkerId, now: Timestamp) -> u64 {
        let mut released = 0;
        for row in self.rows.values_mut() {
            if let Holder::Worker { worker, lease_until } = &mut row.open.holder
                && worker == gone
                && *lease_until > now
            {
                *lease_until = now;
                released += 1;
            }
        }
        released
    }

    fn ready_pools(&self, now: Timestamp) -> BTreeSet<Pool> {
        let ready = self.rows.values().filter(|row| row.open.ready_since(now).is_some());
        ready.map(|row| row.open.pool.clone()).collect()
    }

    /// Returns the time since which the oldest never-leased command of a pool waits.
    fn oldest(&self, pool: &Pool) -> Option<Timestamp> {
        let of_pool = self.rows.values().filter(|row| row.open.pool == *pool);
        let since = of_pool.filter_map(|row| match row.open.holder {
            Holder::Nobody { since } => Some(since),
            Holder::Worker { .. } | Holder::Parked => None,
        });
        since.min()
    }

    fn leased(&self, now: Timestamp) -> Vec<LeasedCommand> {
        let held = self.rows.iter().filter_map(|(&(execution, command), row)| {
            let open = &row.open;
            match &open.holder {
                Holder::Worker { worker, lease_until } if *lease_until > now => {
                    Some(LeasedCommand {
                        execution,
                        command,
                        pool: open.pool.clone(),
                        step: open.step.clone(),
                        attempt: open.attempt,
                        worker: worker.clone(),
                        lease_until: *lease_until,
                    })
                }
                Holder::Worker { .. } | Holder::Nobody { .. } | Holder::Parked => None,
            }
        });
        held.collect()
    }

    /// Returns the expired leases, earliest expiry first.
    fn expired(&self, now: Timestamp) -> Vec<Held> {
        let mut expired: Vec<_> = self
            .rows
            .iter()
            .filter_map(|(&(execution, command), MemoryCommand { position, open })| {
                match open.holder {
                    Holder::Worker { lease_until, .. } if lease_until <= now => {
                        let held = Held { execution, command, attempt: open.attempt };
                        Some((lease_until, *position, held))
                    }
                    Holder::Worker { .. } | Holder::Nobody { .. } | Holder::Parked => None,
                }
            })
            .collect();
        expired.sort_by_key(|(lease_until, position, _)| (*lease_until, *position));
        expired.into_iter().map(|(_, _, held)| held).collect()
    }
}

impl MemoryStore {
    pub(crate) async fn ready(
        &self,
        pool: &Pool,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ReadyCommand>, StoreError> {
        let tables = self.lock();
        let mut ready = tables.commands.rounds(pool, self.clock.now());
        ready.sort_by_key(|(round, (execution, _), row)| {
            (
                Reverse(row.open.priority),
                *round,
                after.is_some_and(|after| *execution <= after),
                *execution,
            )
        });
        let commands = ready.into_iter().take(limit.min(PAGE_MAX));
        Ok(commands
            .map(|(_, (execution, command), row)| ReadyCommand {
                execution,
                command,
                pool: row.open.pool.clone(),
                attempt: row.open.attempt,
                priority: row.open.priority,
            })
            .collect())
    }

    pub(crate) async fn extend(
        &self,
        held: &[Held],
        lease: Duration,
    ) -> Result<Vec<HeldAnswer>, StoreError> {
        let until = self.clock.now().after(lease);
        let mut tables = self.lock();
        Ok(held.iter().map(|held| tables.commands.extend(held, until)).collect())
    }

    pub(crate) async fn renew(
        &self,
        worker: &WorkerId,
        lease: Duration,
    ) -> Result<u64, StoreError> {
        Ok(self.lock().commands.renew(worker, self.clock.now().after(lease)))
    }

    pub(crate) async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        Ok(self.lock().commands.release(worker, self.clock.now()))
    }

    pub(crate) async fn exhausted(
        &self,
        attempts: u32,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<Held>, StoreError> {
        let expired = self.lock().commands.expired(self.clock.now());
        let exhausted = expired.into_iter().filter(|held| held.attempt.0 >= attempts);
        Ok(exhausted.skip(skip).take(limit.min(PAGE_MAX)).collect())
    }

    pub(crate) async fn ready_pools(&self) -> Result<Vec<Pool>, StoreError> {
        Ok(self.lock().commands.ready_pools(self.clock.now()).into_iter().take(PAGE_MAX).collect())
    }

    pub(crate) async fn waiting_executions(
        &self,
        pool: &Pool,
        count_max: u64,
    ) -> Result<u64, StoreError> {
        let waiting: BTreeSet<ExecutionId> = self.lock().commands.waiting(pool).collect();
        Ok(u64::try_from(waiting.len()).expect("a count of rows in memory fits").min(count_max))
    }

    pub(crate) async fn oldest_ready(&self, pool: &Pool) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.lock().commands.oldest(pool))
    }

    pub(crate) async fn leased(&self, limit: usize) -> Result<Vec<LeasedCommand>, StoreError> {
        let mut leased = self.lock().commands.leased(self.clock.now());
        leased.sort_by_key(|it| (Reverse(it.lease_until), it.execution, it.command));
        leased.truncate(limit.min(PAGE_MAX));
        Ok(leased)
    }

    pub(crate) async fn ready_by_priority(
        &self,
        pool: &Pool,
    ) -> Result<Vec<ReadyCount>, StoreError> {
        let (tables, now) = (self.lock(), self.clock.now());
        let mut counts: BTreeMap<Priority, ReadyCount> = BTreeMap::new();
        let of_pool = tables.commands.rows.values().filter(|row| row.open.pool == *pool);
        for row in of_pool.filter(|row| row.open.ready_since(now).is_some()) {
            let priority = row.open.priority;
            let counted =
                counts.entry(priority).or_insert(ReadyCount { priority, count: 0, oldest: None });
            counted.count += 1;
            if let Holder::Nobody { since } = row.open.holder {
                counted.oldest = Some(counted.oldest.map_or(since, |oldest| oldest.min(since)));
            }
        }
        Ok(counts.into_values().collect())
    }

    pub(crate) async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError> {
        let count = self.lock().commands.ready(pool, self.clock.now()).count();
        Ok(u64::try_from(count).expect("a count of rows in memory fits"))
    }
}
