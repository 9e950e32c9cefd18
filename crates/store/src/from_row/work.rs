//! Rows of commands, outbox messages, subscriptions and schedules.

use noetl_model::{
    Attempt, BadPriority, CatalogId, CommandId, EventId, ExecutionId, Pool, Priority, Seq, WorkerId,
};
use thiserror::Error;

use super::{Columns, corrupt};
use crate::{
    CommandKey, Held, Holder, ListedMessage, OpenCommand, OutboxRow, ScheduleRecord, ScheduleRow,
    StoreError, SubscriptionRecord, SubscriptionRow,
};

#[derive(Debug, Error)]
#[error("no such status of a command: `{0}`")]
struct UnknownCommandStatus(String);

/// Converts a row to a lease on a command.
pub fn held(row: &impl Columns) -> Result<Held, StoreError> {
    Ok(Held {
        execution: ExecutionId(row.integer("execution_id")?),
        command: CommandId(row.number("command_id")?),
        attempt: Attempt(row.number("attempt")?),
    })
}

pub fn open_command(row: &impl Columns) -> Result<(CommandKey, OpenCommand), StoreError> {
    let Held { execution, command, attempt } = held(row)?;
    let holder = match row.text("status")? {
        "ISSUED" => Holder::Nobody { since: row.instant("created_at")? },
        "CLAIMED" => Holder::Worker {
            worker: WorkerId::new(row.text("worker_id")?),
            lease_until: row.instant("lease_until")?,
        },
        "PARKED" => Holder::Parked,
        unknown => {
            let what = format!("command {command} of execution {execution}");
            return Err(corrupt(what, UnknownCommandStatus(unknown.to_owned())));
        }
    };
    let (pool, step) = (Pool::new(row.text("pool")?), row.string("step_name")?);
    let priority = priority(row)?;
    Ok(((execution, command), OpenCommand { pool, step, priority, attempt, holder }))
}

/// Reads the column `priority`.
pub fn priority(row: &impl Columns) -> Result<Priority, StoreError> {
    let level: u8 = row.number("priority")?;
    Priority::try_from(level)
        .map_err(|error: BadPriority| corrupt("the priority of a row".to_owned(), error))
}

pub fn outbox_row(row: &impl Columns) -> Result<OutboxRow, StoreError> {
    let id = row.integer("outbox_id")?;
    Ok(OutboxRow {
        id,
        execution: ExecutionId(row.integer("execution_id")?),
        message: row.json("message", || format!("message {id}"))?,
        attempts: row.number("attempts")?,
    })
}

/// Converts the rows of taken messages, ordered by id, without those that became dead.
pub fn taken_messages(rows: &[impl Columns]) -> Result<Vec<OutboxRow>, StoreError> {
    let mut taken = Vec::new();
    for row in rows {
        if !row.flag("is_dead")? {
            taken.push(outbox_row(row)?);
        }
    }
    taken.sort_by_key(|row| row.id);
    Ok(taken)
}

pub fn listed(row: &impl Columns) -> Result<ListedMessage, StoreError> {
    let message = outbox_row(row)?;
    Ok(ListedMessage {
        state: row.word("state", || format!("the state of message {}", message.id))?,
        row: message,
        available_at: row.maybe_instant("available_at")?,
        last_error: row.maybe_string("last_error")?,
        created_at: row.instant("created_at")?,
    })
}

pub fn subscription_row(row: &impl Columns) -> Result<SubscriptionRow, StoreError> {
    let id = ExecutionId(row.integer("subscription_id")?);
    Ok(SubscriptionRow {
        id,
        path: row.string("path")?,
        catalog_id: CatalogId(row.integer("catalog_id")?),
        seq: Seq(row.number("seq")?),
        last_event: row.word("last_event", || format!("subscription {id}"))?,
        updated_at: row.instant("updated_at")?,
    })
}

/// Converts a row to an event of a subscription.
pub fn subscription_record(
    row: &impl Columns,
    id: ExecutionId,
) -> Result<SubscriptionRecord, StoreError> {
    Ok(SubscriptionRecord {
        seq: Seq(row.number("seq")?),
        event_id: EventId(row.integer("event_id")?),
        event: row.word("event_type", || format!("an event of subscription {id}"))?,
        at: row.instant("created_at")?,
    })
}

pub fn schedule_row(row: &impl Columns) -> Result<ScheduleRow, StoreError> {
    let path = row.string("path")?;
    Ok(ScheduleRow {
        seq: Seq(row.number("seq")?),
        standing: row.json("standing", || format!("schedule {path}"))?,
        playbook: row.string("playbook")?,
        timing: row.string("timing")?,
        next_at: row.maybe_instant("next_at")?,
        updated_at: row.instant("updated_at")?,
        path,
    })
}

/// Converts a row to an event of a schedule.
pub fn schedule_record(row: &impl Columns, path: &str) -> Result<ScheduleRecord, StoreError> {
    Ok(ScheduleRecord {
        seq: Seq(row.number("seq")?),
        event: row.json("event", || format!("an event of schedule {path}"))?,
        at: row.instant("created_at")?,
    })
}
