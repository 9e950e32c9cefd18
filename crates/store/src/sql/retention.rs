//! Deletion of ended executions: one transaction for the summary, then batches for the other rows.

use std::collections::BTreeSet;

use noetl_model::{Digest, ExecutionId, ExecutionStatus, Seq};

use super::{
    SqlArgument, SqlColumn, SqlDatabase, SqlTransaction as _, TransactionKind, all_of, first_of,
    is_written,
};
use crate::from_row::Columns;
use crate::to_row::{at_most, to_json};
use crate::{ERASE_MAX, EraseAnswer, KeepMark, KeepReason, PAGE_MAX, StoreError, Tombstone};

/// The number of executions whose old events one call reads for references.
const NOTED_MAX: usize = 20;

pub async fn erase<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    tombstone: &Tombstone,
) -> Result<EraseAnswer, StoreError> {
    let sql = database.sql();
    // The row is locked before the marks and the relatives are read, so that those that are being
    // written are seen.
    let mut transaction = database.begin(TransactionKind::Erasure { execution }).await?;
    let id = || [SqlArgument::from(execution)];
    let found = transaction.rows(&sql.find_erasable, &id()).await?;
    let Some(row) = found.first() else { return Ok(EraseAnswer::Missing) };
    if let Some(reason) = open_reason(row, execution, tombstone)? {
        return Ok(EraseAnswer::Kept(reason));
    }
    let relatives = transaction.rows(&sql.find_keep_reason, &id()).await?;
    if let Some(reason) = relatives.first().map(related).transpose()?.flatten() {
        return Ok(EraseAnswer::Kept(reason));
    }
    let body = to_json(tombstone);
    let arguments = [execution.into(), tombstone.deleted_at.into(), body.into()];
    transaction.rows(&sql.put_tombstone, &arguments).await?;
    transaction.rows(&sql.erase_index, &id()).await?;
    transaction.rows(&sql.erase_summary, &id()).await?;
    transaction.commit().await?;
    Ok(EraseAnswer::Erased)
}

/// Returns the reason for keeping an execution that its own rows give.
fn open_reason(
    row: &impl Columns,
    execution: ExecutionId,
    tombstone: &Tombstone,
) -> Result<Option<KeepReason>, StoreError> {
    let status: ExecutionStatus =
        row.word("status", || format!("the summary of execution {execution}"))?;
    let reason = if !status.is_terminal() {
        Some(KeepReason::Running)
    } else if row.flag("is_marked")? {
        Some(KeepReason::Marked)
    } else if row.flag("has_open_work")? {
        Some(KeepReason::OpenWork)
    } else if Seq(row.number("seq")?) != tombstone.seq {
        Some(KeepReason::Changed)
    } else {
        None
    };
    Ok(reason)
}

/// Returns the relative that a row names.
fn related(row: &impl Columns) -> Result<Option<KeepReason>, StoreError> {
    let relative = |column| Ok(row.maybe_integer(column)?.map(ExecutionId));
    let fork = relative("fork")?.map(KeepReason::Fork);
    let child = relative("running_child")?.map(KeepReason::RunningChild);
    let parent = relative("running_parent")?.map(KeepReason::RunningParent);
    Ok(fork.or(child).or(parent))
}

pub async fn keep_reason<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<Option<KeepReason>, StoreError> {
    let statement = &database.sql().find_keep_reason;
    Ok(first_of(database, statement, &[execution.into()], related).await?.flatten())
}

pub async fn tombstone<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<Option<Tombstone>, StoreError> {
    let what = || format!("the tombstone of execution {execution}");
    let read = |row: &D::Row| row.json("body", what);
    first_of(database, &database.sql().find_tombstone, &[execution.into()], read).await
}

pub async fn erase_payloads<D: SqlDatabase>(database: &D, limit: usize) -> Result<u64, StoreError> {
    erase_payloads_in(&[database], limit).await
}

/// Releases payloads of several databases: a payload that an execution in one of them refers to is
/// kept in all of them. A reference is deleted after its payload is released in every database, so
/// that the next call releases what this one could not.
pub async fn erase_payloads_in<D: SqlDatabase>(
    databases: &[&D],
    limit: usize,
) -> Result<u64, StoreError> {
    match note_references(databases).await? {
        NotedReferences::All => {}
        NotedReferences::Some(count) => return Ok(count),
    }
    let mut erased = Vec::new();
    for database in databases {
        let arguments = [at_most(limit, PAGE_MAX).into()];
        let statement = &database.sql().list_erased_references;
        let references = all_of(*database, statement, &arguments, |row| {
            Ok((row.integer("execution_id")?, row.digest("sha256")?))
        });
        erased.push(references.await?);
    }
    let digests: BTreeSet<Digest> = erased.iter().flatten().map(|(_, digest)| *digest).collect();
    if digests.is_empty() {
        return Ok(0);
    }
    let digests: Vec<Digest> = digests.into_iter().collect();
    let mut referred = BTreeSet::new();
    for database in databases {
        let arguments = [SqlArgument::Rows(vec![SqlColumn::Digests(&digests)])];
        let statement = &database.sql().find_referred_payloads;
        referred
            .extend(all_of(*database, statement, &arguments, |row| row.digest("sha256")).await?);
    }
    let loose: Vec<Digest> = digests.into_iter().filter(|it| !referred.contains(it)).collect();
    if !loose.is_empty() {
        for database in databases {
            let arguments = [SqlArgument::Now, SqlArgument::Rows(vec![SqlColumn::Digests(&loose)])];
            database.write(&database.sql().loosen_payloads, &arguments).await?;
        }
    }
    for (database, erased) in databases.iter().zip(&erased) {
        let of_erased: Vec<Digest> = erased.iter().map(|(_, digest)| *digest).collect();
        let rows = vec![
            SqlColumn::Integers(erased.iter().map(|(execution, _)| *execution).collect()),
            SqlColumn::Digests(&of_erased),
        ];
        database.write(&database.sql().erase_references, &[SqlArgument::Rows(rows)]).await?;
    }
    Ok(erased.iter().map(|references| references.len() as u64).sum())
}

/// The references to payloads that are stored.
enum NotedReferences {
    All,
    /// Only the references of young events; this many old executions were looked at now.
    Some(u64),
}

/// Stores the references of events that are older than the list of references, of a few executions
/// per call.
async fn note_references<D: SqlDatabase>(databases: &[&D]) -> Result<NotedReferences, StoreError> {
    let (mut is_complete, mut noted) = (true, 0);
    for database in databases {
        let arguments = [SqlArgument::Now, at_most(NOTED_MAX, PAGE_MAX).into()];
        let statement = &database.sql().note_references;
        let row = first_of(*database, statement, &arguments, |row| row.number("noted")).await?;
        is_complete &= row.is_none();
        noted += row.unwrap_or(0);
    }
    Ok(if is_complete { NotedReferences::All } else { NotedReferences::Some(noted) })
}

pub async fn erase_rows<D: SqlDatabase>(database: &D, limit: usize) -> Result<u64, StoreError> {
    let sql = database.sql();
    let arguments = [at_most(ERASE_MAX, PAGE_MAX).into()];
    let pending =
        all_of(database, &sql.list_erasures, &arguments, |row| row.integer("execution_id"));
    let mut total = 0;
    let limit = limit as u64;
    for execution in pending.await?.into_iter().map(ExecutionId) {
        for statement in [&sql.erase_events, &sql.erase_log_chunks] {
            if total < limit {
                let arguments = [execution.into(), (limit - total).into()];
                total += database.write(statement, &arguments).await?;
            }
        }
        if total >= limit {
            break;
        }
        total += finish(database, execution).await?;
    }
    Ok(total)
}

/// Deletes the rows of which an execution has few, and marks its deletion as complete. Returns the
/// number of completed deletions: zero while references to payloads are left.
async fn finish<D: SqlDatabase>(database: &D, execution: ExecutionId) -> Result<u64, StoreError> {
    let sql = database.sql();
    let mut transaction = database.begin(TransactionKind::Durable).await?;
    for statement in
        [&sql.erase_log_totals, &sql.erase_snapshot, &sql.erase_replay_folds, &sql.erase_results]
    {
        transaction.rows(statement, &[execution.into()]).await?;
    }
    transaction.rows(&sql.forget_log_sources, &[SqlArgument::ids(&[execution.0])]).await?;
    let variables = [execution.into(), SqlArgument::from(None::<&str>)];
    transaction.rows(&sql.remove_variables, &variables).await?;
    let finished = transaction.rows(&sql.finish_erasure, &[execution.into()]).await?;
    transaction.commit().await?;
    Ok(finished.len() as u64)
}

pub async fn put_keep_mark<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    mark: &KeepMark,
) -> Result<bool, StoreError> {
    let arguments = [execution.into(), to_json(mark).into()];
    is_written(database, &database.sql().put_keep_mark, &arguments).await
}

pub async fn remove_keep_mark<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<bool, StoreError> {
    is_written(database, &database.sql().remove_keep_mark, &[execution.into()]).await
}

pub async fn keep_mark<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<Option<KeepMark>, StoreError> {
    let what = || format!("the mark of execution {execution}");
    let read = |row: &D::Row| row.json("body", what);
    first_of(database, &database.sql().find_keep_mark, &[execution.into()], read).await
}
