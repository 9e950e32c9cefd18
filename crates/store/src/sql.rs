//! The ports over an SQL database. A database finds the text of a statement, binds arguments and
//! returns rows; everything else is the same for all of them.
//!
//! There is one function for each port method, with the name of the method.

mod access;
mod argument;
mod bulk;
mod catalog;
mod executions;
mod feeds;
mod index;
mod layout;
mod limits;
mod log;
mod outbox;
mod projected;
mod queue;
mod records;
mod retention;
mod secrets;
mod signals;
mod statement;
mod step_logs;
mod triggers;

use std::borrow::Cow;

use noetl_model::ExecutionId;

use crate::from_row::Columns;
use crate::{Blobs, StoreError};

pub use access::{
    add_token, append_trail, forget_trail, remove_token, tokens, touch_token, trail, trail_span,
};
pub use argument::{SqlArgument, SqlColumn};
pub use bulk::{
    add_bulk_job, bulk_items, bulk_job, bulk_jobs, forget_bulk_jobs, open_bulk_jobs, record_bulk,
};
pub use catalog::{by_id, by_path, entries_of_kind, paths, register, set_archived};
pub use executions::{child_of, count, histogram, list, stalled, stalled_with_times, summary};
pub use feeds::{
    add_feed, feed, feed_point, find_feed, list_feeds, move_feed, put_feed_delivery, remove_feed,
};
pub use index::{indexed, open_index};
pub use layout::{check_writable, tables};
pub use limits::{
    acknowledge_slots, change_limit, due_limits, held_slots, known_slots, limit, limits,
    next_limit, pauses, put_pause, remove_pause, settle_pause, slot_holders, slot_place,
    slot_queue, unanswered_slots,
};
pub use log::{
    find, furthest_replay, latest, own_events, payload, read, save, save_replay, saved_replays,
};
pub use outbox::{
    discard, failed, list_messages, owed, pending, postpone, remind, revive, sent, take,
};
pub use projected::{
    fold_import, forget_projected, imported, list_imported, project, projected, projected_from,
    projected_within, unfolded_imports,
};
pub use queue::{
    due, exhausted, exhausted_with_times, extend, leased, next_due, oldest_ready, open_work, ready,
    ready_by_priority, ready_count, ready_in_rounds, ready_pools, release, renew,
    waiting_executions,
};
pub use records::{
    collect, collect_blobs, heard_runtime, object, put_object, put_runtime, put_variables,
    remove_runtime, remove_variables, result, result_arguments, runtime, runtimes, variable,
    variables,
};
pub use retention::{
    erase, erase_payloads, erase_payloads_in, erase_rows, keep_mark, keep_reason, put_keep_mark,
    remove_keep_mark, tombstone,
};
pub use secrets::{
    accesses, credential, credentials, key_versions, keychain_entries, keychain_entry, note_access,
    put_credential, put_keychain_entry, remove_credential, remove_keychain_entry, rewrap,
    sealed_otherwise,
};
pub use signals::{
    add_signal, assign_signal, count_signals, count_signals_of, drop_signal, find_signal,
    forget_signals, open_signals, release_signal, settle_signal, undelivered_signals,
};
pub use statement::{NamedStatement, SqlStatements, StatementKind};
pub use step_logs::{append_logs, forget_logs, log_sources, read_logs};
pub use triggers::{
    acquire_lock, due_schedules, failed_among, failed_message, failed_messages, list_schedules,
    next_schedule, put_failed_message, release_lock, remove_failed_messages, schedule,
    schedule_arguments, schedule_events, subscription, subscription_arguments, subscription_at,
    subscription_events, subscriptions, waiting_schedules,
};

/// An SQL database.
pub trait SqlDatabase: Send + Sync {
    type Row: Columns + Send + Sync;
    type Transaction<'a>: SqlTransaction<Row = Self::Row>
    where
        Self: 'a;

    /// The tables that no execution can do without.
    const NEEDED_TABLES: &'static [&'static str];

    fn sql(&self) -> &'static SqlStatements;

    fn blobs(&self) -> Option<&dyn Blobs>;

    /// Returns a text as the database stores it.
    fn stored_text(&self, text: String) -> String;

    /// Runs a statement in its own transaction and returns its rows.
    fn rows(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Runs a statement in its own transaction and returns its first row.
    fn row(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> impl Future<Output = Result<Option<Self::Row>, StoreError>> + Send;

    /// Runs a statement in its own transaction and returns the number of rows it wrote.
    fn write(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Calls a function with the rows of a statement, one after the other, until it returns false.
    fn each(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
        add: impl FnMut(&Self::Row) -> Result<bool, StoreError> + Send,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    fn begin(
        &self,
        kind: TransactionKind<'_>,
    ) -> impl Future<Output = Result<Self::Transaction<'_>, StoreError>> + Send;
}

/// A transaction, rolled back unless it is committed.
pub trait SqlTransaction: Send {
    type Row;

    /// Runs a statement and returns its rows.
    fn rows(
        &mut self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    fn commit(self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// The lock and the durability that a transaction needs.
#[derive(Debug, Clone, Copy)]
pub enum TransactionKind<'a> {
    Durable,
    /// A transaction that is repeated if a power loss drops it.
    Lazy,
    /// A durable transaction that registers, archives or restores a playbook; others at its path
    /// wait.
    Registration {
        path: &'a str,
    },
    /// A durable transaction that removes the summary of an execution, whose other rows are removed
    /// later.
    Erasure {
        execution: ExecutionId,
    },
    /// A durable transaction that changes imported executions; others that change one of them wait.
    Import {
        executions: &'a [i64],
    },
}

/// Returns all rows of a statement, converted.
async fn all_of<D: SqlDatabase, T>(
    database: &D,
    statement: &NamedStatement,
    arguments: &[SqlArgument<'_>],
    convert: impl Fn(&D::Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    database.rows(statement, arguments).await?.iter().map(convert).collect()
}

/// Returns the first row of a statement, converted.
async fn first_of<D: SqlDatabase, T>(
    database: &D,
    statement: &NamedStatement,
    arguments: &[SqlArgument<'_>],
    convert: impl Fn(&D::Row) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    database.row(statement, arguments).await?.as_ref().map(convert).transpose()
}

/// Returns the first row of a statement that always has one, converted.
async fn one_of<D: SqlDatabase, T>(
    database: &D,
    statement: &NamedStatement,
    arguments: &[SqlArgument<'_>],
    convert: impl Fn(&D::Row) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let row = first_of(database, statement, arguments, convert).await?;
    row.ok_or_else(|| StoreError::Unavailable("a statement returned no row".into()))
}

/// Returns the column `count` of a statement.
async fn count_of<D: SqlDatabase>(
    database: &D,
    statement: &NamedStatement,
    arguments: &[SqlArgument<'_>],
) -> Result<u64, StoreError> {
    one_of(database, statement, arguments, |row| row.number("count")).await
}

/// Runs a statement and returns true if it wrote a row.
async fn is_written<D: SqlDatabase>(
    database: &D,
    statement: &NamedStatement,
    arguments: &[SqlArgument<'_>],
) -> Result<bool, StoreError> {
    Ok(database.write(statement, arguments).await? > 0)
}

/// Returns an optional text for a column of [`SqlArgument::Rows`].
fn maybe_cow(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_deref().map(Into::into)
}
