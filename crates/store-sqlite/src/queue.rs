//! The queue of open commands on SQLite.

use std::collections::HashMap;
use std::time::Duration;

use noetl_model::{Attempt, CommandId, ExecutionId, Pool, WorkerId};
use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{CommandKey, Held, HeldAnswer, OpenCommand, PAGE_MAX, ReadyCommand, StoreError};
use sqlx::{SqliteConnection, query, query_as, query_scalar};

use crate::SqliteStore;
use crate::row::{NamedRow, array, store_error};
use crate::store::begin;

impl SqliteStore {
    pub(crate) async fn ready(
        &self,
        pool: &Pool,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ReadyCommand>, StoreError> {
        let rows: Vec<(i64, u64, u32)> = query_as(include_str!("../sql/ready_commands.sql"))
            .bind(pool.as_str())
            .bind(self.clock.now().as_micros())
            .bind(at_most(limit, PAGE_MAX))
            .bind(after.map_or(i64::MIN, |after| after.0))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(rows
            .into_iter()
            .map(|(execution, command, attempt)| ReadyCommand {
                execution: ExecutionId(execution),
                command: CommandId(command),
                pool: pool.clone(),
                attempt: Attempt(attempt),
            })
            .collect())
    }

    pub(crate) async fn extend(
        &self,
        held: &[Held],
        lease: Duration,
    ) -> Result<Vec<HeldAnswer>, StoreError> {
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<CommandKey> =
            held.iter().map(|held| (held.execution, held.command)).collect();
        let mut writer = self.lazy_writer().await?;
        let mut transaction = begin(&mut writer).await?;
        let until = self.clock.now().after(lease);
        let open = find_commands(&mut transaction, &keys).await?;
        let answers: Vec<HeldAnswer> = held
            .iter()
            .zip(&keys)
            .map(|(held, key)| {
                open.get(key).map_or(HeldAnswer::Gone, |open| open.answer(held.attempt))
            })
            .collect();
        let extended = keys.iter().zip(&answers).filter(|(_, answer)| match answer {
            HeldAnswer::Extended => true,
            HeldAnswer::Superseded | HeldAnswer::Gone => false,
        });
        query(include_str!("../sql/extend_leases.sql"))
            .bind(array(extended.map(|(key, _)| key)))
            .bind(until.as_micros())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(answers)
    }

    pub(crate) async fn renew(
        &self,
        worker: &WorkerId,
        lease: Duration,
    ) -> Result<u64, StoreError> {
        let mut writer = self.lazy_writer().await?;
        let renewed = query(include_str!("../sql/renew_leases.sql"))
            .bind(worker.as_str())
            .bind(self.clock.now().after(lease).as_micros())
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(renewed.rows_affected())
    }

    pub(crate) async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        let mut writer = self.lazy_writer().await?;
        let released = query(include_str!("../sql/release_leases.sql"))
            .bind(worker.as_str())
            .bind(self.clock.now().as_micros())
            .execute(&mut *writer)
            .await
            .map_err(store_error)?;
        Ok(released.rows_affected())
    }

    pub(crate) async fn exhausted(
        &self,
        attempts: u32,
        limit: usize,
    ) -> Result<Vec<Held>, StoreError> {
        let rows: Vec<(i64, u64, u32)> = query_as(include_str!("../sql/exhausted_leases.sql"))
            .bind(self.clock.now().as_micros())
            .bind(attempts)
            .bind(at_most(limit, PAGE_MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(rows
            .into_iter()
            .map(|(execution, command, attempt)| Held {
                execution: ExecutionId(execution),
                command: CommandId(command),
                attempt: Attempt(attempt),
            })
            .collect())
    }

    pub(crate) async fn ready_pools(&self) -> Result<Vec<Pool>, StoreError> {
        let pools: Vec<String> = query_scalar(include_str!("../sql/ready_pools.sql"))
            .bind(self.clock.now().as_micros())
            .bind(at_most(PAGE_MAX, PAGE_MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(pools.into_iter().map(Pool::new).collect())
    }

    pub(crate) async fn waiting_executions(
        &self,
        pool: &Pool,
        count_max: u64,
    ) -> Result<u64, StoreError> {
        query_scalar(include_str!("../sql/count_waiting_executions.sql"))
            .bind(pool.as_str())
            .bind(i64::try_from(count_max).unwrap_or(i64::MAX))
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)
    }

    pub(crate) async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError> {
        query_scalar(include_str!("../sql/count_ready_commands.sql"))
            .bind(pool.as_str())
            .bind(self.clock.now().as_micros())
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)
    }
}

/// Loads the open commands with the given keys.
pub(crate) async fn find_commands(
    connection: &mut SqliteConnection,
    keys: &[CommandKey],
) -> Result<HashMap<CommandKey, OpenCommand>, StoreError> {
    let rows = query(include_str!("../sql/find_commands.sql"))
        .bind(array(keys))
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    rows.iter().map(NamedRow).map(from_row::open_command).collect()
}
