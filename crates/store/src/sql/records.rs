//! Records outside the event log: variables, runtimes, results, objects.

use noetl_model::{ExecutionId, Timestamp};
use serde_json::Value;

use super::{
    NamedStatement, SqlArgument, SqlColumn, SqlDatabase, all_of, first_of, is_written, maybe_cow,
    one_of,
};
use crate::from_row::{self, Columns as _};
use crate::to_row::at_most;
use crate::{
    Collected, Horizon, NamedResult, Object, ObjectKey, PAGE_MAX, RUNTIMES_MAX, ResultRef, Runtime,
    RuntimeKey, SCHEDULE_EVENTS_KEPT, StoreError, VARIABLES_MAX, Variable, remove_all_but,
};

pub async fn put_variables<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    variables: &[Variable],
) -> Result<(), StoreError> {
    let rows = vec![
        SqlColumn::Texts(variables.iter().map(|it| Some((&it.name).into())).collect()),
        SqlColumn::Texts(variables.iter().map(|it| Some(it.kind.as_str().into())).collect()),
        SqlColumn::Texts(variables.iter().map(|it| Some(it.value.to_string().into())).collect()),
        SqlColumn::Texts(variables.iter().map(|it| maybe_cow(&it.source_step)).collect()),
        SqlColumn::Instants(variables.iter().map(|it| it.created_at).collect()),
    ];
    let arguments = [execution.into(), SqlArgument::Rows(rows)];
    database.write(&database.sql().put_variables, &arguments).await?;
    Ok(())
}

pub async fn variables<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<Vec<Variable>, StoreError> {
    let arguments = [execution.into(), at_most(VARIABLES_MAX, VARIABLES_MAX).into()];
    all_of(database, &database.sql().list_variables, &arguments, from_row::variable).await
}

pub async fn variable<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    name: &str,
    now: Timestamp,
) -> Result<Option<Variable>, StoreError> {
    let arguments = [execution.into(), name.into(), now.into()];
    first_of(database, &database.sql().find_variable, &arguments, from_row::variable).await
}

pub async fn remove_variables<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    name: Option<&str>,
) -> Result<u64, StoreError> {
    database.write(&database.sql().remove_variables, &[execution.into(), name.into()]).await
}

pub async fn put_runtime<D: SqlDatabase>(
    database: &D,
    runtime: &Runtime,
) -> Result<Runtime, StoreError> {
    let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string).into();
    let arguments = [
        runtime.id.into(),
        (&runtime.key.kind).into(),
        (&runtime.key.name).into(),
        runtime.uri.as_deref().into(),
        (&runtime.status).into(),
        text(&runtime.labels),
        text(&runtime.capabilities),
        runtime.capacity.into(),
        text(&runtime.runtime),
        runtime.heartbeat.into(),
        runtime.created_at.into(),
        runtime.updated_at.into(),
    ];
    one_of(database, &database.sql().put_runtime, &arguments, from_row::runtime).await
}

pub async fn heard_runtime<D: SqlDatabase>(
    database: &D,
    key: &RuntimeKey,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let arguments = [(&key.kind).into(), (&key.name).into(), now.into()];
    is_written(database, &database.sql().heard_runtime, &arguments).await
}

pub async fn runtime<D: SqlDatabase>(
    database: &D,
    key: &RuntimeKey,
) -> Result<Option<Runtime>, StoreError> {
    let arguments = [(&key.kind).into(), (&key.name).into()];
    first_of(database, &database.sql().find_runtime, &arguments, from_row::runtime).await
}

pub async fn runtimes<D: SqlDatabase>(
    database: &D,
    kind: &str,
) -> Result<Vec<Runtime>, StoreError> {
    let arguments = [kind.into(), at_most(RUNTIMES_MAX, RUNTIMES_MAX).into()];
    all_of(database, &database.sql().list_runtimes, &arguments, from_row::runtime).await
}

pub async fn remove_runtime<D: SqlDatabase>(
    database: &D,
    key: &RuntimeKey,
) -> Result<bool, StoreError> {
    let arguments = [(&key.kind).into(), (&key.name).into()];
    is_written(database, &database.sql().remove_runtime, &arguments).await
}

/// Returns the arguments of the statements that write a result. The body is empty if blob storage
/// has it.
pub fn result_arguments<'a>(result: &'a NamedResult, body: &'a [u8]) -> [SqlArgument<'a>; 9] {
    [
        result.reference.execution.into(),
        (&result.reference.name).into(),
        result.reference.id.into(),
        (&result.digest).into(),
        (&result.scope).into(),
        result.source_step.as_deref().into(),
        result.created_at.into(),
        result.expires_at.into(),
        body.into(),
    ]
}

pub async fn result<D: SqlDatabase>(
    database: &D,
    reference: &ResultRef,
    now: Timestamp,
) -> Result<Option<NamedResult>, StoreError> {
    let arguments =
        [reference.execution.into(), (&reference.name).into(), reference.id.into(), now.into()];
    first_of(database, &database.sql().find_result, &arguments, from_row::named_result).await
}

pub async fn put_object<D: SqlDatabase>(database: &D, object: &Object) -> Result<(), StoreError> {
    let arguments = [
        object.key.as_str().into(),
        (&object.media_type).into(),
        (&object.digest).into(),
        (&object.body).into(),
        object.updated_at.into(),
        object.expires_at.into(),
    ];
    database.write(&database.sql().put_object, &arguments).await?;
    Ok(())
}

pub async fn object<D: SqlDatabase>(
    database: &D,
    key: &ObjectKey,
    now: Timestamp,
) -> Result<Option<Object>, StoreError> {
    let arguments = [key.as_str().into(), now.into()];
    let object = |row: &D::Row| from_row::object(row, key);
    first_of(database, &database.sql().find_object, &arguments, object).await
}

pub async fn collect<D: SqlDatabase>(
    database: &D,
    horizon: &Horizon,
    limit: usize,
) -> Result<Collected, StoreError> {
    let remove = async |statement: &NamedStatement, before: Timestamp| {
        database.write(statement, &[before.into(), at_most(limit, PAGE_MAX).into()]).await
    };
    let Horizon { expired, payloads, keychain, runtimes, audit, feed, history } = *horizon;
    let sql = database.sql();
    Ok(Collected {
        results: remove(&sql.collect_results, expired).await?,
        payloads: remove(&sql.collect_payloads, payloads).await?,
        objects: remove(&sql.collect_objects, expired).await?,
        keychain: remove(&sql.collect_keychain, keychain).await?,
        runtimes: remove(&sql.collect_runtimes, runtimes).await?,
        audit: remove(&sql.collect_accesses, audit).await?,
        feed: remove(&sql.collect_feed_batches, feed).await?,
        history: {
            remove(&sql.collect_failed_messages, history).await?;
            remove(&sql.collect_subscription_events, history).await?;
            let arguments =
                [history.into(), at_most(limit, PAGE_MAX).into(), SCHEDULE_EVENTS_KEPT.into()];
            database.write(&sql.collect_schedule_events, &arguments).await?
                + remove(&sql.collect_subscriptions, history).await?
        },
    })
}

pub async fn collect_blobs<D: SqlDatabase>(
    database: &D,
    first: u8,
    before: Timestamp,
) -> Result<u64, StoreError> {
    let Some(blobs) = database.blobs() else { return Ok(0) };
    let mut gone = 0;
    for digests in blobs.aged(first, before).await?.chunks(PAGE_MAX) {
        let arguments = [SqlArgument::Rows(vec![SqlColumn::Digests(digests)])];
        let statement = &database.sql().find_kept_payloads;
        let kept = all_of(database, statement, &arguments, |row| row.digest("sha256")).await?;
        gone += remove_all_but(&kept, digests, blobs, before).await?;
    }
    Ok(gone)
}
