//! Signals that are sent by a correlation key.

use noetl_model::{CommandId, ExecutionId, IndexKey, Timestamp};

use super::{SqlDatabase, all_of, first_of};
use crate::from_row::Columns;
use crate::to_row::{at_most, to_json};
use crate::{PAGE_MAX, SignalState, SignalTarget, StoreError, StoredSignal};

/// The largest number of attempts to number a signal, since others may take the same numbers. The
/// distance to the first number doubles, so that the last attempt skips more numbers than a server gives
/// within a millisecond.
const ATTEMPTS_MAX: u32 = 16;

pub async fn add_signal<D: SqlDatabase>(
    database: &D,
    signal: &StoredSignal,
) -> Result<StoredSignal, StoreError> {
    let sql = database.sql();
    let target = signal.state.target();
    let body = to_json(&signal.signal);
    for attempt in 0..ATTEMPTS_MAX {
        let skipped = (1_i64 << attempt) >> 1;
        let arguments = [
            signal.id.into(),
            signal.index_key.as_str().into(),
            signal.once.as_deref().into(),
            signal.state.as_str().into(),
            target.map(|target| target.execution.0).into(),
            target.map(command_of).into(),
            signal.expires_at.into(),
            (&body).into(),
            skipped.into(),
        ];
        let stored = first_of(database, &sql.put_signal, &arguments, signal_row).await?;
        if let Some(stored) = stored {
            return Ok(stored);
        }
        let once = [signal.once.as_deref().into()];
        let existing = first_of(database, &sql.find_signal_by_key, &once, signal_row).await?;
        if let Some(existing) = existing {
            return Ok(existing);
        }
        // Another signal has the number, or the one under the same key has expired meanwhile.
    }
    Err(StoreError::Unavailable("a signal was not stored".into()))
}

pub async fn find_signal<D: SqlDatabase>(
    database: &D,
    id: i64,
) -> Result<Option<StoredSignal>, StoreError> {
    first_of(database, &database.sql().find_signal, &[id.into()], signal_row).await
}

pub async fn undelivered_signals<D: SqlDatabase>(
    database: &D,
    index_key: &IndexKey,
    after: i64,
    limit: usize,
) -> Result<Vec<StoredSignal>, StoreError> {
    let arguments = [index_key.as_str().into(), at_most(limit, PAGE_MAX).into(), after.into()];
    all_of(database, &database.sql().list_undelivered_signals, &arguments, signal_row).await
}

pub async fn open_signals<D: SqlDatabase>(
    database: &D,
    after: i64,
    limit: usize,
) -> Result<Vec<StoredSignal>, StoreError> {
    let arguments = [after.into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_open_signals, &arguments, signal_row).await
}

pub async fn assign_signal<D: SqlDatabase>(
    database: &D,
    id: i64,
    target: SignalTarget,
) -> Result<bool, StoreError> {
    let arguments = [id.into(), target.execution.0.into(), command_of(target).into()];
    Ok(database.write(&database.sql().assign_signal, &arguments).await? > 0)
}

pub async fn release_signal<D: SqlDatabase>(
    database: &D,
    id: i64,
    target: SignalTarget,
) -> Result<bool, StoreError> {
    let statement = &database.sql().release_signal;
    let arguments = [id.into(), target.execution.0.into(), command_of(target).into()];
    Ok(database.write(statement, &arguments).await? > 0)
}

pub async fn settle_signal<D: SqlDatabase>(
    database: &D,
    id: i64,
    target: SignalTarget,
    expires_at: Timestamp,
) -> Result<bool, StoreError> {
    let statement = &database.sql().settle_signal;
    let (execution, command) = (target.execution.0, command_of(target));
    let arguments = [id.into(), execution.into(), command.into(), expires_at.into()];
    Ok(database.write(statement, &arguments).await? > 0)
}

pub async fn drop_signal<D: SqlDatabase>(database: &D, id: i64) -> Result<bool, StoreError> {
    Ok(database.write(&database.sql().drop_signal, &[id.into()]).await? > 0)
}

fn command_of(target: SignalTarget) -> i64 {
    i64::try_from(target.command.0).unwrap_or(i64::MAX)
}

pub async fn count_signals<D: SqlDatabase>(database: &D, max: u64) -> Result<u64, StoreError> {
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    let statement = &database.sql().count_signals;
    let count = first_of(database, statement, &[max.into()], |row| row.integer("count")).await?;
    Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
}

pub async fn count_signals_of<D: SqlDatabase>(
    database: &D,
    index_key: &IndexKey,
    max: u64,
) -> Result<u64, StoreError> {
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    let (statement, arguments) =
        (&database.sql().count_signals_of, [index_key.as_str().into(), max.into()]);
    let count = first_of(database, statement, &arguments, |row| row.integer("count")).await?;
    Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
}

pub async fn forget_signals<D: SqlDatabase>(
    database: &D,
    before: Timestamp,
    limit: usize,
) -> Result<u64, StoreError> {
    let arguments = [before.into(), at_most(limit, PAGE_MAX).into()];
    database.write(&database.sql().forget_signals, &arguments).await
}

fn signal_row(row: &impl Columns) -> Result<StoredSignal, StoreError> {
    let id = row.integer("signal_id")?;
    let target = || -> Result<SignalTarget, StoreError> {
        Ok(SignalTarget {
            execution: ExecutionId(row.integer("execution_id")?),
            command: CommandId(u64::try_from(row.integer("command_id")?).unwrap_or(u64::MAX)),
        })
    };
    let state = match row.text("state")? {
        "kept" => SignalState::Kept,
        "assigned" => SignalState::Assigned(target()?),
        _ => SignalState::Delivered(target()?),
    };
    Ok(StoredSignal {
        id,
        index_key: IndexKey::new(row.string("index_key")?),
        once: row.maybe_string("once_key")?,
        state,
        expires_at: row.instant("expires_at")?,
        signal: row.json("body", || format!("signal {id}"))?,
    })
}
