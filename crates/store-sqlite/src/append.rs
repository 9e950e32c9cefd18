//! The event log: a batch is read up on, planned, written table by table, and committed at once.

use std::collections::HashMap;

use async_trait::async_trait;
use noetl_model::{CommandId, EventId, ExecutionId, ForkPoint, Parent, Recorded, Seq, Timestamp};
use noetl_store::{
    Append, AppendError, CommandKey, EventLog, Known, LogEnd, OwnEvents, Plan, READ_EVENTS_MAX,
    StoreError, put_away, read_shared,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{SqliteConnection, query, query_as, query_scalar};

use crate::SqliteStore;
use crate::encode::{CommandRow, EventRow, ExecutionRow};
use crate::key::{KeyRow, find_keys, forget_keys};
use crate::queue::find_commands;
use crate::row::{NO_ROWS, array, at_most, digest, get, json, store_error, stored};
use crate::store::begin;

#[async_trait]
impl EventLog for SqliteStore {
    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(blobs) = self.blobs() {
            put_away(blobs, &batch.iter().collect::<Vec<_>>()).await?;
        }
        let mut writer = self.writer().await?;
        let mut transaction = begin(&mut writer).await?;
        let now = self.clock.now();
        let known = read_up(&mut transaction, batch, now).await?;
        let mut plan = Plan::of(batch, known);
        if self.blobs().is_some() {
            plan.without_bodies();
        }
        if !plan.executions.is_empty() {
            write(&mut transaction, &plan, now).await?;
        }
        transaction.commit().await.map_err(store_error)?;
        Ok(plan.answers)
    }

    async fn read(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        let read = |execution, after, limit| self.own_events(execution, after, limit);
        read_shared(execution, after, limit, read).await
    }

    async fn find(&self, event: EventId) -> Result<Option<(ExecutionId, Recorded)>, StoreError> {
        let row = query(include_str!("../sql/find_event.sql"))
            .bind(event.0)
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)?;
        row.map(|row| {
            let execution = ExecutionId(get(&row, "execution_id")?);
            Ok((execution, recorded(execution, &row)?))
        })
        .transpose()
    }
}

impl SqliteStore {
    async fn own_events(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<OwnEvents, StoreError> {
        let rows = query(include_str!("../sql/read_events.sql"))
            .bind(execution.0)
            .bind(stored(after.0))
            .bind(at_most(limit, READ_EVENTS_MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        let mut own = OwnEvents::default();
        for row in &rows {
            if get::<Option<&str>>(row, "body")?.is_none() {
                let execution = ExecutionId(get(row, "event_id")?);
                own.shared = Some(ForkPoint { execution, seq: Seq(get(row, "seq")?) });
            } else {
                own.events.push(recorded(execution, row)?);
            }
        }
        Ok(own)
    }
}

fn recorded(execution: ExecutionId, row: &SqliteRow) -> Result<Recorded, StoreError> {
    let seq = Seq(get(row, "seq")?);
    let what = || format!("event {seq} of execution {execution}");
    Ok(Recorded {
        seq,
        event_id: EventId(get(row, "event_id")?),
        at: Timestamp::from_micros(get(row, "created_at")?),
        event: json(get(row, "body")?, what)?,
        prev: get::<Option<&[u8]>>(row, "prev_digest")?.map(digest).transpose()?,
    })
}

/// What the store holds of all that a batch touches.
async fn read_up(
    connection: &mut SqliteConnection,
    batch: &[Append],
    now: Timestamp,
) -> Result<Known, StoreError> {
    let logs: Vec<(i64, u64, i64, Option<Vec<u8>>)> =
        query_as(include_str!("../sql/find_seqs.sql"))
            .bind(array(batch.iter().map(|append| append.execution)))
            .fetch_all(&mut *connection)
            .await
            .map_err(store_error)?;
    let logs = logs.into_iter().map(|(execution, seq, at, head)| {
        let head = head.map(|bytes| digest(&bytes)).transpose()?;
        let end = LogEnd { seq: Seq(seq), at: Timestamp::from_micros(at), head };
        Ok((ExecutionId(execution), end))
    });
    let logs = logs.collect::<Result<HashMap<_, _>, StoreError>>()?;
    let event_ids: Vec<i64> = query_scalar(include_str!("../sql/find_event_ids.sql"))
        .bind(array(batch.iter().flat_map(|append| &append.events).map(|event| event.event_id)))
        .fetch_all(&mut *connection)
        .await
        .map_err(store_error)?;
    let parents = batch.iter().filter_map(|append| append.summary.parent.and_then(Parent::command));
    let parents: Vec<CommandKey> =
        parents.map(|parent| (parent.execution, parent.command)).collect();
    let commands: Vec<CommandKey> = batch
        .iter()
        .flat_map(|append| append.queue.iter().map(|change| (append.execution, change.command())))
        .collect();
    Ok(Known {
        now,
        logs,
        event_ids: event_ids.into_iter().map(EventId).collect(),
        children: match &parents[..] {
            [] => HashMap::new(),
            parents => find_children(&mut *connection, parents).await?,
        },
        commands: match &commands[..] {
            [] => HashMap::new(),
            commands => find_commands(&mut *connection, commands).await?,
        },
        keys: find_keys(connection, batch).await?,
    })
}

/// The executions that were started for some commands.
async fn find_children(
    connection: &mut SqliteConnection,
    parents: &[CommandKey],
) -> Result<HashMap<CommandKey, ExecutionId>, StoreError> {
    let children: Vec<(i64, u64, i64)> = query_as(include_str!("../sql/find_children.sql"))
        .bind(array(parents))
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    let children = children.into_iter().map(|(parent, command, child)| {
        ((ExecutionId(parent), CommandId(command)), ExecutionId(child))
    });
    Ok(children.collect())
}

/// Writes the rows of a plan, each table at once; a table that gains nothing costs nothing.
async fn write(
    connection: &mut SqliteConnection,
    plan: &Plan<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    for (statement, rows) in tables(plan) {
        if rows == NO_ROWS {
            continue;
        }
        query(statement)
            .bind(rows)
            .bind(now.as_micros())
            .execute(&mut *connection)
            .await
            .map_err(store_error)?;
    }
    if !plan.keys.is_empty() {
        forget_keys(&mut *connection, now).await?;
    }
    for (_, digest, bytes) in &plan.payloads {
        query(include_str!("../sql/put_payload.sql"))
            .bind(&digest.as_bytes()[..])
            .bind(*bytes)
            .execute(&mut *connection)
            .await
            .map_err(store_error)?;
    }
    Ok(())
}

/// The statements that write a plan, in order, each with its rows.
fn tables(plan: &Plan<'_>) -> [(&'static str, String); 9] {
    let executions =
        plan.executions.iter().map(|(execution, change)| ExecutionRow::of(*execution, change));
    let events = plan.events.iter().map(|(execution, event)| EventRow::of(*execution, event));
    let places = plan.events.iter().map(|(execution, event)| (execution, event.seq));
    let open = plan.open_commands().map(|(key, open)| CommandRow::of(key, open));
    let set = plan.set_timers().map(|((execution, timer), due_at)| (execution, timer, due_at));
    let keys = plan.keys.iter().map(|(name, kept)| KeyRow::of(name, kept));
    [
        (include_str!("../sql/put_executions.sql"), array(executions)),
        (include_str!("../sql/append_events.sql"), array(events)),
        (include_str!("../sql/put_feed_batch.sql"), array(places)),
        (include_str!("../sql/put_commands.sql"), array(open)),
        (include_str!("../sql/remove_commands.sql"), array(plan.ended_commands())),
        (include_str!("../sql/put_timers.sql"), array(set)),
        (include_str!("../sql/remove_timers.sql"), array(plan.ended_timers())),
        (include_str!("../sql/put_messages.sql"), array(&plan.messages)),
        (include_str!("../sql/put_start_keys.sql"), array(keys)),
    ]
}
