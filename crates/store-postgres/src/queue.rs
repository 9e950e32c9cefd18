//! The queue of open commands on PostgreSQL.

use std::collections::HashMap;
use std::time::Duration;

use noetl_model::{ExecutionId, Pool, Timestamp, WorkerId};
use noetl_store::from_row::{self, Columns as _};
use noetl_store::to_row::{at_most, stored};
use noetl_store::{CommandKey, Held, HeldAnswer, OpenCommand, PAGE_MAX, ReadyCommand, StoreError};
use sqlx::{PgConnection, query, query_scalar};

use crate::PgStore;
use crate::row::{Named, micros, plain, store_error, unsigned};

impl PgStore {
    pub(crate) async fn ready(
        &self,
        pool: &Pool,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ReadyCommand>, StoreError> {
        let waiting = self.waiting(pool, after, limit).await?;
        Ok(waiting.into_iter().map(|(_, command)| command).collect())
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
        let mut transaction = self.begin().await?;
        let open = lock_commands(&mut transaction, &keys).await?;
        let answers: Vec<HeldAnswer> = held
            .iter()
            .zip(&keys)
            .map(|(held, key)| {
                open.get(key).map_or(HeldAnswer::Gone, |open| open.answer(held.attempt))
            })
            .collect();
        let extended: Vec<CommandKey> = keys
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| match answer {
                HeldAnswer::Extended => true,
                HeldAnswer::Superseded | HeldAnswer::Gone => false,
            })
            .map(|(key, _)| *key)
            .collect();
        let (executions, commands) = columns(&extended);
        query(include_str!("../sql/extend_leases.sql"))
            .bind(executions)
            .bind(commands)
            .bind(micros(lease))
            .bind(self.now())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(answers)
    }

    pub(crate) async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        let statement = query(include_str!("../sql/release_leases.sql"))
            .bind(plain(worker.as_str()))
            .bind(self.now());
        self.write(statement).await
    }

    pub(crate) async fn renew(
        &self,
        worker: &WorkerId,
        lease: Duration,
    ) -> Result<u64, StoreError> {
        let statement = query(include_str!("../sql/renew_leases.sql"))
            .bind(plain(worker.as_str()))
            .bind(self.now())
            .bind(micros(lease));
        self.write(statement).await
    }

    pub(crate) async fn exhausted(
        &self,
        attempts: u32,
        limit: usize,
    ) -> Result<Vec<Held>, StoreError> {
        let run_out = self.run_out(attempts, limit).await?;
        Ok(run_out.into_iter().map(|(_, held)| held).collect())
    }

    pub(crate) async fn ready_pools(&self) -> Result<Vec<Pool>, StoreError> {
        let pools: Vec<String> = query_scalar(include_str!("../sql/ready_pools.sql"))
            .bind(self.now())
            .bind(at_most(PAGE_MAX, PAGE_MAX))
            .fetch_all(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(pools.into_iter().map(Pool::new).collect())
    }

    pub(crate) async fn waiting_executions(
        &self,
        pool: &Pool,
        count_max: u64,
    ) -> Result<u64, StoreError> {
        let count: i64 = query_scalar(include_str!("../sql/count_waiting_executions.sql"))
            .bind(plain(pool.as_str()))
            .bind(stored(count_max))
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        unsigned(count, "count")
    }

    pub(crate) async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError> {
        let count: i64 = query_scalar(include_str!("../sql/count_ready_commands.sql"))
            .bind(plain(pool.as_str()))
            .bind(self.now())
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        unsigned(count, "count")
    }
}

impl PgStore {
    /// Returns the ready commands of a pool, each with its round.
    pub(crate) async fn waiting(
        &self,
        pool: &Pool,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<(u64, ReadyCommand)>, StoreError> {
        let statement = query(include_str!("../sql/ready_commands.sql"))
            .bind(plain(pool.as_str()))
            .bind(self.now())
            .bind(at_most(limit, PAGE_MAX))
            .bind(after.map_or(i64::MIN, |after| after.0));
        let rows = self.rows(statement).await?;
        rows.iter()
            .map(|row| {
                let Held { execution, command, attempt } = from_row::held(Named(row))?;
                let ready = ReadyCommand { execution, command, pool: pool.clone(), attempt };
                Ok((Named(row).number("round")?, ready))
            })
            .collect()
    }

    /// Returns the exhausted leases, each with the time of its expiry.
    pub(crate) async fn run_out(
        &self,
        attempts: u32,
        limit: usize,
    ) -> Result<Vec<(Timestamp, Held)>, StoreError> {
        let statement = query(include_str!("../sql/exhausted_leases.sql"))
            .bind(self.now())
            .bind(i64::from(attempts))
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter()
            .map(|row| Ok((Named(row).instant("waiting_since")?, from_row::held(Named(row))?)))
            .collect()
    }
}

/// Loads and locks the open commands with the given keys until the end of the transaction.
pub(crate) async fn lock_commands(
    connection: &mut PgConnection,
    keys: &[CommandKey],
) -> Result<HashMap<CommandKey, OpenCommand>, StoreError> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let (executions, commands) = columns(keys);
    let rows = query(include_str!("../sql/lock_commands.sql"))
        .bind(executions)
        .bind(commands)
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    rows.iter().map(Named).map(from_row::open_command).collect()
}

fn columns(keys: &[CommandKey]) -> (Vec<i64>, Vec<i64>) {
    keys.iter().map(|(execution, command)| (execution.0, stored(command.0))).unzip()
}
