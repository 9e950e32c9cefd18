//! Schedules, subscriptions, failed messages and named locks.

use std::time::Duration;

use noetl_model::{EventId, ExecutionId, ScheduleEvent, Seq, Timestamp};

use super::{SqlArgument, SqlDatabase, all_of, first_of, is_written, one_of};
use crate::from_row::{self, Columns as _, schedule_row, subscription_row};
use crate::to_row::{at_most, to_json};
use crate::{
    FailedMark, FailedMessage, PAGE_MAX, READ_EVENTS_MAX, ScheduleRecord, ScheduleRow, StoreError,
    SubscriptionRecord, SubscriptionRow,
};

/// Returns the arguments of the statements that write an event of a subscription.
pub fn subscription_arguments(row: &SubscriptionRow, event: EventId) -> [SqlArgument<'_>; 7] {
    [
        row.id.into(),
        (&row.path).into(),
        row.catalog_id.into(),
        row.seq.into(),
        row.last_event.as_str().into(),
        row.updated_at.into(),
        event.into(),
    ]
}

pub async fn subscription<D: SqlDatabase>(
    database: &D,
    id: ExecutionId,
) -> Result<Option<SubscriptionRow>, StoreError> {
    first_of(database, &database.sql().find_subscription, &[id.into()], subscription_row).await
}

pub async fn subscription_at<D: SqlDatabase>(
    database: &D,
    path: &str,
) -> Result<Option<SubscriptionRow>, StoreError> {
    let statement = &database.sql().find_subscription_at;
    first_of(database, statement, &[path.into()], subscription_row).await
}

pub async fn subscriptions<D: SqlDatabase>(
    database: &D,
    before: Option<ExecutionId>,
    limit: usize,
) -> Result<Vec<SubscriptionRow>, StoreError> {
    let arguments = [before.map_or(i64::MAX, |id| id.0).into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_subscriptions, &arguments, subscription_row).await
}

pub async fn subscription_events<D: SqlDatabase>(
    database: &D,
    id: ExecutionId,
    after: Seq,
) -> Result<Vec<SubscriptionRecord>, StoreError> {
    let arguments = [id.into(), after.into(), at_most(READ_EVENTS_MAX, READ_EVENTS_MAX).into()];
    all_of(database, &database.sql().read_subscription_events, &arguments, |row| {
        from_row::subscription_record(row, id)
    })
    .await
}

/// Returns the arguments of the statements that write an event of a schedule.
pub fn schedule_arguments<'a>(row: &'a ScheduleRow, event: &ScheduleEvent) -> [SqlArgument<'a>; 9] {
    [
        (&row.path).into(),
        row.seq.into(),
        to_json(&row.standing).into(),
        (&row.playbook).into(),
        (&row.timing).into(),
        row.next_at.into(),
        row.standing.queued.is_some().into(),
        row.updated_at.into(),
        to_json(event).into(),
    ]
}

pub async fn schedule<D: SqlDatabase>(
    database: &D,
    path: &str,
) -> Result<Option<ScheduleRow>, StoreError> {
    first_of(database, &database.sql().find_schedule, &[path.into()], schedule_row).await
}

pub async fn list_schedules<D: SqlDatabase>(
    database: &D,
    after: Option<&str>,
) -> Result<Vec<ScheduleRow>, StoreError> {
    let arguments = [after.unwrap_or_default().into(), at_most(PAGE_MAX, PAGE_MAX).into()];
    all_of(database, &database.sql().list_schedules, &arguments, schedule_row).await
}

pub async fn due_schedules<D: SqlDatabase>(
    database: &D,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<ScheduleRow>, StoreError> {
    let arguments = [now.into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().due_schedules, &arguments, schedule_row).await
}

pub async fn next_schedule<D: SqlDatabase>(database: &D) -> Result<Option<Timestamp>, StoreError> {
    let statement = &database.sql().next_schedule;
    one_of(database, statement, &[], |row| row.maybe_instant("next_at")).await
}

pub async fn waiting_schedules<D: SqlDatabase>(
    database: &D,
    after: Option<&str>,
) -> Result<Vec<ScheduleRow>, StoreError> {
    let arguments = [after.unwrap_or_default().into(), at_most(PAGE_MAX, PAGE_MAX).into()];
    all_of(database, &database.sql().waiting_schedules, &arguments, schedule_row).await
}

pub async fn schedule_events<D: SqlDatabase>(
    database: &D,
    path: &str,
    before: Option<Seq>,
    limit: usize,
) -> Result<Vec<ScheduleRecord>, StoreError> {
    let before = before.map_or_else(|| i64::MAX.into(), SqlArgument::from);
    let arguments = [path.into(), before, at_most(limit, READ_EVENTS_MAX).into()];
    all_of(database, &database.sql().read_schedule_events, &arguments, |row| {
        from_row::schedule_record(row, path)
    })
    .await
}

pub async fn put_failed_message<D: SqlDatabase>(
    database: &D,
    message: &FailedMessage,
) -> Result<(), StoreError> {
    let arguments = [
        message.subscription.into(),
        (&message.arrival.once).into(),
        message.order_key.as_deref().into(),
        message.failures.into(),
        (&message.reason).into(),
        to_json(&message.arrival).into(),
        message.standing.until().into(),
        message.first_at.into(),
        message.last_at.into(),
    ];
    database.write(&database.sql().put_failed_message, &arguments).await?;
    Ok(())
}

pub async fn failed_among<D: SqlDatabase>(
    database: &D,
    subscription: ExecutionId,
    named: &[String],
    order_keys: &[String],
) -> Result<Vec<FailedMark>, StoreError> {
    let arguments = [
        subscription.into(),
        SqlArgument::texts(named.iter().map(String::as_str)),
        SqlArgument::texts(order_keys.iter().map(String::as_str)),
    ];
    let statement = &database.sql().mark_failed_messages;
    all_of(database, statement, &arguments, from_row::failed_mark).await
}

pub async fn failed_message<D: SqlDatabase>(
    database: &D,
    subscription: ExecutionId,
    once: &str,
) -> Result<Option<FailedMessage>, StoreError> {
    let arguments = [subscription.into(), once.into()];
    first_of(database, &database.sql().find_failed_message, &arguments, |row| {
        from_row::failed_message(row, subscription)
    })
    .await
}

pub async fn failed_messages<D: SqlDatabase>(
    database: &D,
    subscription: ExecutionId,
    after: &str,
    limit: usize,
) -> Result<Vec<FailedMessage>, StoreError> {
    let arguments = [subscription.into(), after.into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_failed_messages, &arguments, |row| {
        from_row::failed_message(row, subscription)
    })
    .await
}

pub async fn remove_failed_messages<D: SqlDatabase>(
    database: &D,
    subscription: ExecutionId,
    named: &[String],
) -> Result<u64, StoreError> {
    let named = SqlArgument::texts(named.iter().map(String::as_str));
    let arguments = [subscription.into(), named];
    database.write(&database.sql().remove_failed_messages, &arguments).await
}

pub async fn acquire_lock<D: SqlDatabase>(
    database: &D,
    name: &str,
    holder: &str,
    lease: Duration,
) -> Result<bool, StoreError> {
    let arguments = [name.into(), holder.into(), SqlArgument::After(lease), SqlArgument::Now];
    is_written(database, &database.sql().acquire_lock, &arguments).await
}

pub async fn release_lock<D: SqlDatabase>(
    database: &D,
    name: &str,
    holder: &str,
) -> Result<(), StoreError> {
    database.write(&database.sql().release_lock, &[name.into(), holder.into()]).await?;
    Ok(())
}
