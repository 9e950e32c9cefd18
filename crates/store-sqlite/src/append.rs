//! The event log on SQLite. The rows that a batch touches are read, then the batch is planned and
//! written table by table, in two calls to the database.

use noetl_model::{CommandId, EventId, ExecutionId, IndexEntry, Timestamp};
use noetl_store::from_row::{self, Columns as _};
use noetl_store::sql::SqlDatabase as _;
use noetl_store::to_row::index_command;
use noetl_store::{
    Append, AppendError, CommandKey, Plan, StartKey, StoreError, StoredRows, store_payloads,
};
use sqlx::{SqliteConnection, query};

use crate::SqliteStore;
use crate::database::STATEMENTS;
use crate::encode::{CommandRow, EventRow, ExecutionRow};
use crate::key::KeyRow;
use crate::row::{NO_ROWS, NamedRow, array, store_error};
use crate::script::{Parameter, Script};
use crate::store::{BEGIN, COMMIT, Durability};

impl SqliteStore {
    pub(crate) async fn append(
        &self,
        batch: &[Append],
    ) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(blobs) = self.blobs() {
            store_payloads(blobs, &batch.iter().collect::<Vec<_>>()).await?;
        }
        let mut writer = self.manual_transaction(Durability::Durable).await?;
        let now = self.clock.now();
        let known = read_up(&mut writer, batch, now).await?;
        let mut plan = Plan::of(batch, known);
        if self.blobs().is_some() {
            plan.without_bodies();
        }
        write(&mut writer, &plan, now).await?;
        writer.settle();
        Ok(plan.answers)
    }

    pub(crate) fn admits(&self, _execution: ExecutionId, _key: &StartKey) -> bool {
        true
    }
}

/// Begins a write transaction and reads the stored rows that a batch touches.
async fn read_up(
    connection: &mut SqliteConnection,
    batch: &[Append],
    now: Timestamp,
) -> Result<StoredRows, StoreError> {
    let parents = batch.iter().filter_map(Append::starts_child_of);
    let commands = batch
        .iter()
        .flat_map(|append| append.queue.iter().map(|change| (append.execution, change.command())));
    let forks = batch.iter().filter_map(Append::starts_fork_at);
    let event_ids = batch.iter().flat_map(|append| &append.events).map(|event| event.event_id);
    let keys = batch.iter().filter_map(Append::start_key_used).map(|key| key.qualified());
    let reads = [
        (include_str!("../sql/find_seqs.sql"), array(batch.iter().map(|append| append.execution))),
        (include_str!("../sql/find_event_ids.sql"), array(event_ids)),
        (include_str!("../sql/find_children.sql"), array(parents)),
        (STATEMENTS.lock_commands.text, array(commands)),
        (
            include_str!("../sql/find_fork_origins.sql"),
            array(forks.map(|point| (point.execution, point.seq))),
        ),
        (include_str!("../sql/find_start_keys.sql"), array(keys)),
    ];
    let mut script = Script::default();
    script.add(BEGIN, &[]);
    let is_asked = reads.each_ref().map(|(_, keys)| keys != NO_ROWS);
    for (statement, keys) in reads {
        if keys != NO_ROWS {
            script.add(statement, &[Parameter::Text(keys)]);
        }
    }
    let mut found = script.run(connection).await?.into_iter().skip(1);
    let [logs, event_ids, children, commands, origins, keys] = is_asked
        .map(|is_asked| if is_asked { found.next().unwrap_or_default() } else { Vec::new() });
    Ok(StoredRows {
        now,
        logs: logs.iter().map(from_row::log_end).collect::<Result<_, _>>()?,
        event_ids: event_ids
            .iter()
            .map(|row| Ok(EventId(row.integer("event_id")?)))
            .collect::<Result<_, StoreError>>()?,
        children: children.iter().map(child).collect::<Result<_, _>>()?,
        commands: commands.iter().map(from_row::open_command).collect::<Result<_, _>>()?,
        origins: origins.iter().map(from_row::fork_origin).collect::<Result<_, _>>()?,
        keys: keys.iter().map(from_row::kept_key).collect::<Result<_, _>>()?,
    })
}

/// Converts a row to a child execution and its parent command.
fn child(row: &NamedRow) -> Result<(CommandKey, ExecutionId), StoreError> {
    let parent = ExecutionId(row.integer("parent_execution_id")?);
    let command = CommandId(row.number("parent_command_id")?);
    Ok(((parent, command), ExecutionId(row.integer("execution_id")?)))
}

/// Writes the rows of a plan, one statement for each table, and commits. A table without new rows
/// is skipped.
async fn write(
    connection: &mut SqliteConnection,
    plan: &Plan<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    for (_, digest, bytes) in &plan.payloads {
        query(include_str!("../sql/put_payload.sql"))
            .bind(&digest.as_bytes()[..])
            .bind(*bytes)
            .execute(&mut *connection)
            .await
            .map_err(store_error)?;
    }
    let mut script = Script::default();
    for (statement, rows) in tables(plan) {
        if rows != NO_ROWS {
            script.add(statement, &[Parameter::Text(rows), Parameter::Number(now.as_micros())]);
        }
    }
    if !plan.keys.is_empty() {
        let forget = include_str!("../sql/remove_start_keys.sql");
        script.add(forget, &[Parameter::Number(now.as_micros())]);
    }
    script.add(COMMIT, &[]);
    script.run(connection).await?;
    Ok(())
}

/// Returns the primary key of an index entry.
fn index_key(execution: ExecutionId, entry: &IndexEntry) -> (&str, &str, ExecutionId, i64) {
    (entry.kind.as_str(), entry.key.as_str(), execution, index_command(entry.command))
}

/// Returns the statements that write a plan, in order, each with its rows.
fn tables(plan: &Plan<'_>) -> [(&'static str, String); 12] {
    let executions =
        plan.executions.iter().map(|(execution, change)| ExecutionRow::of(*execution, change));
    let events = plan.events.iter().map(|(execution, event)| EventRow::of(*execution, event));
    let places = plan.events.iter().map(|(execution, event)| (execution, event.seq));
    let open = plan.open_commands().map(|(key, open)| CommandRow::of(key, open));
    let set = plan.set_timers().map(|((execution, timer), due_at)| (execution, timer, due_at));
    let removed = plan.removed_index().map(|(execution, entry)| index_key(execution, entry));
    let added = plan.added_index().map(|(execution, entry, at)| (index_key(execution, entry), at));
    let keys = plan.keys.iter().map(|(name, kept)| KeyRow::of(name, kept));
    [
        (include_str!("../sql/put_executions.sql"), array(executions)),
        (include_str!("../sql/append_events.sql"), array(events)),
        (include_str!("../sql/put_payload_references.sql"), array(&plan.references)),
        (include_str!("../sql/put_feed_batch.sql"), array(places)),
        (include_str!("../sql/put_commands.sql"), array(open)),
        (include_str!("../sql/remove_commands.sql"), array(plan.ended_commands())),
        (include_str!("../sql/put_timers.sql"), array(set)),
        (include_str!("../sql/remove_timers.sql"), array(plan.ended_timers())),
        (include_str!("../sql/put_messages.sql"), array(&plan.messages)),
        (include_str!("../sql/put_start_keys.sql"), array(keys)),
        (include_str!("../sql/remove_index.sql"), array(removed)),
        (include_str!("../sql/put_index.sql"), array(added)),
    ]
}
