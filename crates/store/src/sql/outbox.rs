//! The outbox.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use noetl_model::{CommandId, ExecutionId, Message};

use super::{
    SqlArgument, SqlColumn, SqlDatabase, SqlTransaction as _, TransactionKind, all_of, count_of,
    one_of,
};
use crate::from_row::{self, Columns as _, taken_messages};
use crate::to_row::{at_most, to_json};
use crate::{
    AttemptOutcome, Failure, ListedMessage, OUTBOX_ATTEMPTS_MAX, OUTBOX_TAKE_MAX, OutboxConsumer,
    OutboxListing, OutboxRow, Sent, StoreError, Take, attempt_outcomes, missing_ids,
};

pub async fn take<D: SqlDatabase>(database: &D, take: Take) -> Result<Vec<OutboxRow>, StoreError> {
    let (now, until) = (SqlArgument::Now, SqlArgument::After(take.hold));
    let limit = at_most(take.limit, OUTBOX_TAKE_MAX).into();
    let attempts_max = OUTBOX_ATTEMPTS_MAX.into();
    let retries_first = at_most(take.retries_first(), OUTBOX_TAKE_MAX).into();
    let sql = database.sql();
    let rows = match take.consumer {
        OutboxConsumer::Relay => {
            let arguments = [now, until, limit, retries_first, attempts_max];
            database.rows(&sql.take_messages, &arguments).await?
        }
        OutboxConsumer::InternalRelay => {
            let arguments = [now, until, limit, retries_first, attempts_max];
            database.rows(&sql.take_internal_messages, &arguments).await?
        }
        OutboxConsumer::Notifier => {
            let arguments = [now, until, limit, attempts_max];
            database.rows(&sql.take_notifications, &arguments).await?
        }
        OutboxConsumer::Publisher => {
            let arguments = [now, until, limit, attempts_max];
            database.rows(&sql.claim_messages, &arguments).await?
        }
    };
    taken_messages(&rows)
}

pub async fn sent<D: SqlDatabase>(database: &D, ids: &[i64]) -> Result<Sent, StoreError> {
    if ids.is_empty() {
        return Ok(Sent::default());
    }
    let sql = database.sql();
    let gone = all_of(database, &sql.remove_messages, &[SqlArgument::ids(ids)], id).await?;
    let mut unknown = missing_ids(ids, &gone);
    if !unknown.is_empty() {
        let last = one_of(database, &sql.last_message_id, &[], id).await?;
        unknown.retain(|id| !(1..=last).contains(id));
    }
    Ok(Sent { marked: gone.len() as u64, unknown })
}

pub async fn failed<D: SqlDatabase>(
    database: &D,
    failures: &[Failure],
) -> Result<Vec<AttemptOutcome>, StoreError> {
    if failures.is_empty() {
        return Ok(Vec::new());
    }
    let sql = database.sql();
    let ids: Vec<i64> = failures.iter().map(|failure| failure.id).collect();
    let mut transaction = database.begin(TransactionKind::Durable).await?;
    let found = transaction.rows(&sql.lock_messages, &[SqlArgument::ids(&ids)]).await?;
    let attempts: HashMap<i64, u32> = found
        .iter()
        .map(|row| Ok((id(row)?, row.number("attempts")?)))
        .collect::<Result<_, StoreError>>()?;
    let mut unknown: HashSet<i64> =
        ids.into_iter().filter(|id| !attempts.contains_key(id)).collect();
    if !unknown.is_empty() {
        let last = transaction.rows(&sql.last_message_id, &[]).await?;
        let last = last.first().map(id).transpose()?.unwrap_or_default();
        unknown.retain(|id| !(1..=last).contains(id));
    }
    let attempt_outcomes = attempt_outcomes(failures, &attempts, &unknown);
    let (mut ids, mut errors, mut delays) = (Vec::new(), Vec::new(), Vec::new());
    for (failure, outcome) in failures.iter().zip(&attempt_outcomes) {
        if let Some(delay) = outcome.wait() {
            ids.push(failure.id);
            errors.push(Some(failure.kept_error().into()));
            delays.push(delay);
        }
    }
    let rows = vec![SqlColumn::Integers(ids), SqlColumn::Texts(errors), SqlColumn::Delays(delays)];
    transaction.rows(&sql.fail_messages, &[SqlArgument::Now, SqlArgument::Rows(rows)]).await?;
    transaction.commit().await?;
    Ok(attempt_outcomes)
}

pub async fn postpone<D: SqlDatabase>(
    database: &D,
    ids: &[i64],
    delay: Duration,
) -> Result<(), StoreError> {
    if ids.is_empty() {
        return Ok(());
    }
    let arguments = [SqlArgument::ids(ids), SqlArgument::After(delay), SqlArgument::Now];
    database.write(&database.sql().postpone_messages, &arguments).await?;
    Ok(())
}

pub async fn remind<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    command: CommandId,
    notification: &Message,
) -> Result<bool, StoreError> {
    let message = to_json(notification);
    let arguments = [execution.into(), command.into(), message.into(), SqlArgument::Now];
    Ok(database.write(&database.sql().put_reminder, &arguments).await? > 0)
}

pub async fn owed<D: SqlDatabase>(database: &D) -> Result<u64, StoreError> {
    count_of(database, &database.sql().count_messages, &[]).await
}

pub async fn pending<D: SqlDatabase>(database: &D) -> Result<u64, StoreError> {
    count_of(database, &database.sql().count_pending_messages, &[SqlArgument::Now]).await
}

pub async fn list_messages<D: SqlDatabase>(
    database: &D,
    page: OutboxListing,
) -> Result<Vec<ListedMessage>, StoreError> {
    let state = page.state.map(|state| state.as_str());
    let arguments = [page.after.into(), at_most(page.limit, OUTBOX_TAKE_MAX).into(), state.into()];
    all_of(database, &database.sql().list_messages, &arguments, from_row::listed).await
}

pub async fn revive<D: SqlDatabase>(database: &D, ids: &[i64]) -> Result<u64, StoreError> {
    database.write(&database.sql().revive_messages, &[SqlArgument::ids(ids)]).await
}

pub async fn discard<D: SqlDatabase>(database: &D, ids: &[i64]) -> Result<u64, StoreError> {
    database.write(&database.sql().drop_messages, &[SqlArgument::ids(ids)]).await
}

fn id(row: &impl from_row::Columns) -> Result<i64, StoreError> {
    row.integer("outbox_id")
}
