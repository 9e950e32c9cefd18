//! Reads of the event log, with what is stored to load the state of an execution.

use noetl_model::{Digest, EventId, ExecutionId, Recorded, Seq};

use super::{SqlDatabase, all_of, first_of};
use crate::from_row::{Columns as _, LogRows, recorded, replay_mark, saved_replay, snapshot};
use crate::to_row::at_most;
use crate::{
    OwnEvents, PAGE_MAX, READ_EVENTS_MAX, ReplayBound, ReplayMark, SavedReplay, Snapshot,
    StoreError, load_payloads, read_shared,
};

pub async fn read<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Recorded>, StoreError> {
    let own = |execution, after, limit| own_events(database, execution, after, limit);
    read_shared(execution, after, limit, own).await
}

/// Reads events from an execution's own log.
pub async fn own_events<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    after: Seq,
    limit: usize,
) -> Result<OwnEvents, StoreError> {
    let arguments = [execution.into(), after.into(), at_most(limit, READ_EVENTS_MAX).into()];
    let mut reader = LogRows::new(execution);
    database.each(&database.sql().read_events, &arguments, |row| reader.add(row)).await?;
    Ok(reader.into_events())
}

pub async fn find<D: SqlDatabase>(
    database: &D,
    event: EventId,
) -> Result<Option<(ExecutionId, Recorded)>, StoreError> {
    first_of(database, &database.sql().find_event, &[event.into()], |row| {
        let execution = ExecutionId(row.integer("execution_id")?);
        Ok((execution, recorded(execution, row)?))
    })
    .await
}

pub async fn payload<D: SqlDatabase>(
    database: &D,
    digest: &Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let (statement, arguments) = (&database.sql().find_payload, [digest.into()]);
    let body = first_of(database, statement, &arguments, |row| Ok(row.bytes("body")?.to_vec()));
    match body.await? {
        Some(body) => load_payloads(database.blobs(), digest, body).await,
        None => Ok(None),
    }
}

pub async fn save<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    snapshot: &Snapshot,
) -> Result<(), StoreError> {
    let Snapshot { seq, shape, body } = snapshot;
    let arguments = [execution.into(), (*seq).into(), (*shape).into(), body.into()];
    database.write(&database.sql().put_snapshot, &arguments).await?;
    Ok(())
}

pub async fn latest<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<Option<Snapshot>, StoreError> {
    first_of(database, &database.sql().find_snapshot, &[execution.into()], snapshot).await
}

pub async fn save_replay<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    projection: &str,
    replay: &SavedReplay,
) -> Result<(), StoreError> {
    let arguments = [
        execution.into(),
        projection.into(),
        replay.seq.into(),
        replay.last_id.into(),
        replay.last_at.into(),
        replay.shape.into(),
        (&replay.body).into(),
    ];
    database.write(&database.sql().put_replay_fold, &arguments).await?;
    Ok(())
}

pub async fn furthest_replay<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
    projection: &str,
    bound: ReplayBound,
) -> Result<Option<SavedReplay>, StoreError> {
    let arguments = [
        execution.into(),
        projection.into(),
        bound.shape.into(),
        bound.seq.into(),
        bound.last_id.into(),
        bound.last_at.into(),
    ];
    first_of(database, &database.sql().find_replay_fold, &arguments, saved_replay).await
}

pub async fn saved_replays<D: SqlDatabase>(
    database: &D,
    execution: ExecutionId,
) -> Result<Vec<ReplayMark>, StoreError> {
    let arguments = [execution.into(), at_most(PAGE_MAX, PAGE_MAX).into()];
    all_of(database, &database.sql().list_replay_folds, &arguments, replay_mark).await
}
