//! Open commands in memory, and who may take them.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{Attempt, CommandId, ExecutionId, Pool, Timestamp};

use super::MemoryStore;
use crate::{
    AppendError, CommandQueue, Held, HeldAnswer, PAGE_MAX, QueueChange, ReadyCommand, StoreError,
};

#[derive(Default)]
pub(super) struct CommandTable {
    rows: BTreeMap<(ExecutionId, CommandId), CommandRow>,
    last_position: u64,
}

#[derive(Clone)]
pub(super) struct CommandRow {
    /// Grows with every command that is added.
    position: u64,
    pool: Pool,
    attempt: Attempt,
    holding: Holding,
}

/// What stands between a command and the next worker.
#[derive(Clone, Copy)]
enum Holding {
    Nothing { since: Timestamp },
    Lease { until: Timestamp },
    Parked,
}

impl CommandRow {
    /// Since when the command can be leased; `None` if it cannot be at `now`.
    fn ready_since(&self, now: Timestamp) -> Option<Timestamp> {
        match self.holding {
            Holding::Nothing { since } => Some(since),
            Holding::Lease { until } => (until <= now).then_some(until),
            Holding::Parked => None,
        }
    }
}

/// What the rows of one execution become; `None` removes.
pub(super) type StagedCommands = BTreeMap<CommandId, Option<CommandRow>>;

impl CommandTable {
    /// What `changes` make of the rows of `execution`, or a conflict if they rest on rows that are
    /// not so.
    pub(super) fn stage(
        &mut self,
        execution: ExecutionId,
        changes: &[QueueChange],
        now: Timestamp,
    ) -> Result<StagedCommands, AppendError> {
        let mut staged = StagedCommands::new();
        for change in changes {
            let (command, row) = self.changed(execution, change, &staged, now)?;
            staged.insert(command, row);
        }
        Ok(staged)
    }

    fn changed(
        &mut self,
        execution: ExecutionId,
        change: &QueueChange,
        staged: &StagedCommands,
        now: Timestamp,
    ) -> Result<(CommandId, Option<CommandRow>), AppendError> {
        let current = |command: CommandId| match staged.get(&command) {
            Some(row) => row.as_ref(),
            None => self.rows.get(&(execution, command)),
        };
        match change {
            QueueChange::Add { command, pool, step: _ } => {
                if current(*command).is_some() {
                    return Err(AppendError::Conflict);
                }
                self.last_position += 1;
                let row = CommandRow {
                    position: self.last_position,
                    pool: pool.clone(),
                    attempt: Attempt(0),
                    holding: Holding::Nothing { since: now },
                };
                Ok((*command, Some(row)))
            }
            QueueChange::Lease { command, attempt, worker: _, lease_until } => {
                let row = current(*command).ok_or(AppendError::Conflict)?;
                if row.attempt.next() != *attempt || row.ready_since(now).is_none() {
                    return Err(AppendError::Conflict);
                }
                let holding = Holding::Lease { until: *lease_until };
                Ok((*command, Some(CommandRow { attempt: *attempt, holding, ..row.clone() })))
            }
            QueueChange::Park { command } => {
                let row = current(*command).ok_or(AppendError::Conflict)?;
                Ok((*command, Some(CommandRow { holding: Holding::Parked, ..row.clone() })))
            }
            QueueChange::Remove { command } => Ok((*command, None)),
        }
    }

    pub(super) fn commit(&mut self, execution: ExecutionId, staged: StagedCommands) {
        for (command, row) in staged {
            match row {
                Some(row) => self.rows.insert((execution, command), row),
                None => self.rows.remove(&(execution, command)),
            };
        }
    }

    /// Whether an execution has an open command, parked ones included.
    pub(super) fn any_of(&self, execution: ExecutionId) -> bool {
        let all = (execution, CommandId(0))..=(execution, CommandId(u64::MAX));
        self.rows.range(all).next().is_some()
    }

    fn ready<'a>(
        &'a self,
        pool: &'a Pool,
        now: Timestamp,
    ) -> impl Iterator<Item = (Timestamp, (ExecutionId, CommandId), &'a CommandRow)> {
        self.rows
            .iter()
            .filter(move |(_, row)| row.pool == *pool)
            .filter_map(move |(key, row)| Some((row.ready_since(now)?, *key, row)))
    }

    fn extend(&mut self, held: &Held, until: Timestamp) -> HeldAnswer {
        let Some(row) = self.rows.get_mut(&(held.execution, held.command)) else {
            return HeldAnswer::Gone;
        };
        match row.holding {
            Holding::Lease { .. } if row.attempt == held.attempt => {
                row.holding = Holding::Lease { until };
                HeldAnswer::Extended
            }
            Holding::Lease { .. } | Holding::Nothing { .. } | Holding::Parked => {
                HeldAnswer::Superseded
            }
        }
    }

    fn expired(&self, now: Timestamp) -> Vec<(Timestamp, Held)> {
        let mut expired: Vec<_> = self
            .rows
            .iter()
            .filter_map(|(&(execution, command), row)| match row.holding {
                Holding::Lease { until } if until <= now => {
                    Some((until, Held { execution, command, attempt: row.attempt }))
                }
                Holding::Lease { .. } | Holding::Nothing { .. } | Holding::Parked => None,
            })
            .collect();
        expired.sort_by_key(|(until, held)| (*until, held.execution, held.command));
        expired
    }
}

#[async_trait]
impl CommandQueue for MemoryStore {
    async fn ready(&self, pool: &Pool, limit: usize) -> Result<Vec<ReadyCommand>, StoreError> {
        let tables = self.tables();
        let mut ready: Vec<_> = tables.commands.ready(pool, self.clock.now()).collect();
        ready.sort_by_key(|(since, _, row)| (*since, row.position));
        let commands = ready.into_iter().take(limit.min(PAGE_MAX));
        Ok(commands
            .map(|(_, (execution, command), row)| ReadyCommand {
                execution,
                command,
                pool: row.pool.clone(),
                attempt: row.attempt,
            })
            .collect())
    }

    async fn extend(&self, held: &[Held], lease: Duration) -> Result<Vec<HeldAnswer>, StoreError> {
        let until = self.clock.now().after(lease);
        let mut tables = self.tables();
        Ok(held.iter().map(|held| tables.commands.extend(held, until)).collect())
    }

    async fn exhausted(&self, attempts: u32, limit: usize) -> Result<Vec<Held>, StoreError> {
        let expired = self.tables().commands.expired(self.clock.now());
        let exhausted = expired.into_iter().map(|(_, held)| held);
        Ok(exhausted.filter(|held| held.attempt.0 >= attempts).take(limit.min(PAGE_MAX)).collect())
    }

    async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError> {
        let count = self.tables().commands.ready(pool, self.clock.now()).count();
        Ok(u64::try_from(count).expect("a count of rows in memory fits"))
    }
}
