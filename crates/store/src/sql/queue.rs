//! The queue of open commands, and the timers.

use std::collections::HashMap;
use std::time::Duration;

use noetl_model::{ExecutionId, Pool, Priority, TimerId, Timestamp, WorkerId};

use super::{
    SqlArgument, SqlColumn, SqlDatabase, SqlTransaction as _, TransactionKind, all_of, count_of,
    one_of,
};
use crate::from_row::{self, Columns};
use crate::to_row::{at_most, stored};
use crate::{
    CommandKey, Held, HeldAnswer, LeasedCommand, OpenCommand, OpenWork, PAGE_MAX, ReadyCommand,
    ReadyCount, StoreError, TimerRow,
};

pub async fn ready<D: SqlDatabase>(
    database: &D,
    pool: &Pool,
    after: Option<ExecutionId>,
    limit: usize,
) -> Result<Vec<ReadyCommand>, StoreError> {
    let ready = ready_in_rounds(database, pool, after, limit).await?;
    Ok(ready.into_iter().map(|(_, command)| command).collect())
}

/// Returns the ready commands of a pool, each with its round. Each priority takes one statement,
/// and only as many as the limit needs.
pub async fn ready_in_rounds<D: SqlDatabase>(
    database: &D,
    pool: &Pool,
    after: Option<ExecutionId>,
    limit: usize,
) -> Result<Vec<(u64, ReadyCommand)>, StoreError> {
    let limit = limit.min(PAGE_MAX);
    let mut ready = Vec::new();
    let mut below = u32::from(Priority::HIGHEST.level()) + 1;
    while ready.len() < limit {
        let arguments = [
            pool.as_str().into(),
            SqlArgument::Now,
            at_most(limit - ready.len(), PAGE_MAX).into(),
            after.map_or(i64::MIN, |after| after.0).into(),
            below.into(),
        ];
        let level = all_of(database, &database.sql().ready_commands, &arguments, |row| {
            let Held { execution, command, attempt } = from_row::held(row)?;
            let (pool, priority) = (pool.clone(), from_row::priority(row)?);
            let ready = ReadyCommand { execution, command, pool, attempt, priority };
            Ok((row.number("round")?, ready, row.flag("is_last")?))
        });
        let level = level.await?;
        let Some((_, last, is_last)) = level.last() else { break };
        below = u32::from(last.priority.level());
        let is_last = *is_last;
        ready.extend(level.into_iter().map(|(round, command, _)| (round, command)));
        if is_last {
            break;
        }
    }
    Ok(ready)
}

pub async fn extend<D: SqlDatabase>(
    database: &D,
    held: &[Held],
    lease: Duration,
) -> Result<Vec<HeldAnswer>, StoreError> {
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<CommandKey> = held.iter().map(|held| (held.execution, held.command)).collect();
    let sql = database.sql();
    let mut transaction = database.begin(TransactionKind::Lazy).await?;
    let open = transaction.rows(&sql.lock_commands, &[key_rows(&keys)]).await?;
    let open: HashMap<CommandKey, OpenCommand> =
        open.iter().map(from_row::open_command).collect::<Result<_, _>>()?;
    let answer = |(held, key): (&Held, &CommandKey)| {
        open.get(key).map_or(HeldAnswer::Gone, |open| open.answer(held.attempt))
    };
    let answers: Vec<HeldAnswer> = held.iter().zip(&keys).map(answer).collect();
    let extended = keys.iter().zip(&answers).filter(|(_, answer)| match answer {
        HeldAnswer::Extended => true,
        HeldAnswer::Superseded | HeldAnswer::Gone => false,
    });
    let extended: Vec<CommandKey> = extended.map(|(key, _)| *key).collect();
    let arguments = [key_rows(&extended), SqlArgument::After(lease), SqlArgument::Now];
    transaction.rows(&sql.extend_leases, &arguments).await?;
    transaction.commit().await?;
    Ok(answers)
}

fn key_rows(keys: &[CommandKey]) -> SqlArgument<'static> {
    let executions = keys.iter().map(|(execution, _)| execution.0).collect();
    let commands = keys.iter().map(|(_, command)| stored(command.0)).collect();
    SqlArgument::Rows(vec![SqlColumn::Integers(executions), SqlColumn::Integers(commands)])
}

pub async fn renew<D: SqlDatabase>(
    database: &D,
    worker: &WorkerId,
    lease: Duration,
) -> Result<u64, StoreError> {
    let arguments = [worker.as_str().into(), SqlArgument::After(lease), SqlArgument::Now];
    database.write(&database.sql().renew_leases, &arguments).await
}

pub async fn release<D: SqlDatabase>(database: &D, worker: &WorkerId) -> Result<u64, StoreError> {
    let arguments = [worker.as_str().into(), SqlArgument::Now];
    database.write(&database.sql().release_leases, &arguments).await
}

pub async fn exhausted<D: SqlDatabase>(
    database: &D,
    attempts: u32,
    skip: usize,
    limit: usize,
) -> Result<Vec<Held>, StoreError> {
    let exhausted = exhausted_with_times(database, attempts, skip, limit.min(PAGE_MAX)).await?;
    Ok(exhausted.into_iter().map(|(_, held)| held).collect())
}

/// Returns the exhausted leases, each with the time of its expiry.
pub async fn exhausted_with_times<D: SqlDatabase>(
    database: &D,
    attempts: u32,
    skip: usize,
    limit: usize,
) -> Result<Vec<(Timestamp, Held)>, StoreError> {
    let arguments = [
        SqlArgument::Now,
        attempts.into(),
        at_most(limit, usize::MAX).into(),
        at_most(skip, usize::MAX).into(),
    ];
    all_of(database, &database.sql().exhausted_leases, &arguments, |row| {
        Ok((row.instant("waiting_since")?, from_row::held(row)?))
    })
    .await
}

pub async fn ready_pools<D: SqlDatabase>(database: &D) -> Result<Vec<Pool>, StoreError> {
    let arguments = [SqlArgument::Now, at_most(PAGE_MAX, PAGE_MAX).into()];
    let pool = |row: &D::Row| Ok(Pool::new(row.text("pool")?));
    all_of(database, &database.sql().ready_pools, &arguments, pool).await
}

pub async fn ready_count<D: SqlDatabase>(database: &D, pool: &Pool) -> Result<u64, StoreError> {
    let arguments = [pool.as_str().into(), SqlArgument::Now];
    count_of(database, &database.sql().count_ready_commands, &arguments).await
}

pub async fn ready_by_priority<D: SqlDatabase>(
    database: &D,
    pool: &Pool,
) -> Result<Vec<ReadyCount>, StoreError> {
    let arguments = [pool.as_str().into(), SqlArgument::Now];
    all_of(database, &database.sql().ready_by_priority, &arguments, |row| {
        Ok(ReadyCount {
            priority: from_row::priority(row)?,
            count: u64::try_from(row.integer("count")?).unwrap_or(0),
            oldest: row.maybe_instant("created_at")?,
        })
    })
    .await
}

pub async fn oldest_ready<D: SqlDatabase>(
    database: &D,
    pool: &Pool,
) -> Result<Option<Timestamp>, StoreError> {
    let arguments = [pool.as_str().into()];
    let since = |row: &D::Row| row.maybe_instant("created_at");
    one_of(database, &database.sql().oldest_ready_command, &arguments, since).await
}

pub async fn leased<D: SqlDatabase>(
    database: &D,
    limit: usize,
) -> Result<Vec<LeasedCommand>, StoreError> {
    let arguments = [SqlArgument::Now, at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().leased_commands, &arguments, |row| {
        let Held { execution, command, attempt } = from_row::held(row)?;
        Ok(LeasedCommand {
            execution,
            command,
            pool: Pool::new(row.text("pool")?),
            step: row.string("step_name")?,
            attempt,
            worker: WorkerId::new(row.text("worker_id")?),
            lease_until: row.instant("lease_until")?,
        })
    })
    .await
}

pub async fn waiting_executions<D: SqlDatabase>(
    database: &D,
    pool: &Pool,
    count_max: u64,
) -> Result<u64, StoreError> {
    let arguments = [pool.as_str().into(), count_max.into()];
    count_of(database, &database.sql().count_waiting_executions, &arguments).await
}

pub async fn due<D: SqlDatabase>(
    database: &D,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<TimerRow>, StoreError> {
    let arguments = [now.into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().due_timers, &arguments, |row| {
        let (timer, due_at) = timer(row)?;
        Ok(TimerRow { execution: ExecutionId(row.integer("execution_id")?), timer, due_at })
    })
    .await
}

pub async fn next_due<D: SqlDatabase>(database: &D) -> Result<Option<Timestamp>, StoreError> {
    one_of(database, &database.sql().next_timer, &[], |row| row.maybe_instant("due_at")).await
}

pub async fn open_work<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<OpenWork, StoreError> {
    let (sql, arguments) = (database.sql(), [execution.into()]);
    let commands = all_of(database, &sql.open_commands, &arguments, |row| {
        let ((_, command), open) = from_row::open_command(row)?;
        Ok((command, open))
    });
    let commands = commands.await?.into_iter().collect();
    let timers = all_of(database, &sql.open_timers, &arguments, timer).await?;
    Ok(OpenWork { commands, timers: timers.into_iter().collect() })
}

fn timer(row: &impl Columns) -> Result<(TimerId, Timestamp), StoreError> {
    Ok((TimerId(row.number("timer_id")?), row.instant("due_at")?))
}
