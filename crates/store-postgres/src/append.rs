//! The event log on PostgreSQL. A batch is written by one statement, which is its own transaction
//! if no stored rows have to be read first.

use std::collections::{HashMap, HashSet};

use noetl_model::{CommandId, Digest, EventId, ExecutionId, ForkPoint, Timestamp};
use noetl_store::from_row::{self, Columns as _};
use noetl_store::sql::SqlDatabase as _;
use noetl_store::to_row::stored;
use noetl_store::{
    Append, AppendError, Clock as _, CommandKey, LogEnd, OpenCommand, Plan, StartKey, StoreError,
    StoredRows, SystemClock, store_payloads,
};
use sqlx::{PgConnection, Row as _, query, query_as, query_scalar};
use tokio::time::Instant as Moment;

use crate::PgStore;
use crate::database::STATEMENTS;
use crate::encode::{PlanBasis, bound};
use crate::instant::Instant;
use crate::key::find_keys;
use crate::row::{Named, is_conflict, is_disconnected, store_error, unsigned};

/// The number of times a batch is planned again because another writer committed first.
const CONFLICTS_MAX: u32 = 8;

/// The check for used event ids before writing. Event ids are generated as unique, so normally the
/// primary key detects a duplicate, and only then the ids are looked up.
#[derive(Clone, Copy)]
enum EventIds {
    Trusted,
    Checked,
}

/// Fork points whose event is stored, with the digest of that event if it is known.
pub(crate) type ForkOrigins = HashMap<ForkPoint, Option<Digest>>;

/// The reason a batch was not written.
enum Unwritten {
    /// Another writer changed the rows that the plan was based on.
    Conflict,
    Failed(StoreError),
}

impl From<StoreError> for Unwritten {
    fn from(error: StoreError) -> Self {
        Unwritten::Failed(error)
    }
}

impl From<sqlx::Error> for Unwritten {
    fn from(error: sqlx::Error) -> Self {
        if is_conflict(&error) {
            Unwritten::Conflict
        } else {
            Unwritten::Failed(store_error(error))
        }
    }
}

impl PgStore {
    pub(crate) async fn append(
        &self,
        batch: &[Append],
    ) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        self.append_all(&batch.iter().collect::<Vec<_>>(), &ForkOrigins::new()).await
    }

    pub(crate) fn admits(&self, _execution: ExecutionId, _key: &StartKey) -> bool {
        true
    }

    /// Writes a batch, planning it again while other writers commit first. `elsewhere` has the fork
    /// points of the batch that are stored in other databases.
    pub(crate) async fn append_all(
        &self,
        batch: &[&Append],
        elsewhere: &ForkOrigins,
    ) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(blobs) = self.blobs() {
            store_payloads(blobs, batch).await?;
        }
        match self.write_presumed(batch).await {
            Ok(Some(answers)) => return Ok(answers),
            Ok(None) | Err(Unwritten::Conflict) => {}
            Err(Unwritten::Failed(error)) => return Err(error),
        }
        let mut event_ids = EventIds::Trusted;
        for _ in 0..CONFLICTS_MAX {
            match self.write_known(batch, event_ids, elsewhere).await {
                Ok(answers) => return Ok(answers),
                Err(Unwritten::Failed(error)) => return Err(error),
                Err(Unwritten::Conflict) => event_ids = EventIds::Checked,
            }
        }
        Err(StoreError::Unavailable("other writers kept getting in between".into()))
    }

    /// Writes a batch in one call without reading stored rows. Returns `None` if rows have to be
    /// read first or a start key is held: the order of several refusals is decided by the full
    /// plan.
    async fn write_presumed(
        &self,
        batch: &[&Append],
    ) -> Result<Option<Vec<Result<(), AppendError>>>, Unwritten> {
        let (now, footing) = match self.now() {
            None => (SystemClock.now(), PlanBasis::Assumed),
            Some(Instant(now)) => (now, PlanBasis::AssumedWithClock),
        };
        let Some(mut plan) = Plan::presumed(batch.iter().copied(), now) else {
            return Ok(None);
        };
        plan.events.sort_by_key(|(execution, _)| *execution);
        if self.blobs().is_some() {
            plan.without_bodies();
        }
        let mut writer = self.writers.take().await?;
        let asked = Moment::now();
        let told = bound(&plan, now, footing).fetch_one(&mut *writer).await;
        let told = told.inspect_err(|error| self.note_doubtful_connection(error))?;
        self.time.observe(told.try_get("now")?, asked);
        self.writers.keep(writer);
        let is_written: bool = told.try_get("written")?;
        Ok(is_written.then_some(plan.answers))
    }

    /// Closes the kept connections after a disconnect, because they lead to the same server.
    fn note_doubtful_connection(&self, error: &sqlx::Error) {
        if is_disconnected(error) {
            self.writers.release();
        }
    }

    async fn write_known(
        &self,
        batch: &[&Append],
        event_ids: EventIds,
        elsewhere: &ForkOrigins,
    ) -> Result<Vec<Result<(), AppendError>>, Unwritten> {
        let mut transaction = self.pool.begin().await?;
        let mut known = read_up(&mut transaction, batch, event_ids, self.now()).await?;
        known.origins.extend(elsewhere);
        let now = known.now;
        let mut plan = Plan::of(batch.iter().copied(), known);
        if self.blobs().is_some() {
            plan.without_bodies();
        }
        // All writers insert rows in the same order, so that concurrent writers of the same keys
        // wait for each other without a deadlock.
        plan.events.sort_by_key(|(execution, _)| *execution);
        if !plan.executions.is_empty() {
            let told = bound(&plan, now, PlanBasis::Read).fetch_one(&mut *transaction).await?;
            // Another writer has taken a start key since the keys were read.
            if !told.try_get("written")? {
                return Err(Unwritten::Conflict);
            }
        }
        transaction.commit().await?;
        Ok(plan.answers)
    }
}

/// Reads and locks the stored rows that a batch touches.
async fn read_up(
    connection: &mut PgConnection,
    batch: &[&Append],
    event_ids: EventIds,
    now: Option<Instant>,
) -> Result<StoredRows, Unwritten> {
    let (now, logs) = lock_executions(connection, batch, now).await?;
    let parents: Vec<CommandKey> =
        batch.iter().filter_map(|append| append.starts_child_of()).collect();
    let commands: Vec<CommandKey> = batch
        .iter()
        .flat_map(|append| append.queue.iter().map(|change| (append.execution, change.command())))
        .collect();
    let forks: Vec<ForkPoint> = batch.iter().filter_map(|it| it.starts_fork_at()).collect();
    Ok(StoredRows {
        now,
        logs,
        event_ids: match event_ids {
            EventIds::Trusted => HashSet::new(),
            EventIds::Checked => find_event_ids(connection, batch).await?,
        },
        children: find_children(connection, &parents).await?,
        commands: lock_commands(connection, &commands).await?,
        origins: find_fork_origins(connection, &forks).await?,
        keys: find_keys(connection, batch).await?,
    })
}

async fn lock_executions(
    connection: &mut PgConnection,
    batch: &[&Append],
    now: Option<Instant>,
) -> Result<(Timestamp, HashMap<ExecutionId, LogEnd>), Unwritten> {
    let ids: Vec<i64> = batch.iter().map(|append| append.execution.0).collect();
    let rows = query(include_str!("../sql/lock_executions.sql"))
        .bind(&ids)
        .bind(ids.iter().min())
        .bind(ids.iter().max())
        .bind(now)
        .fetch_all(connection)
        .await?;
    let mut logs = HashMap::with_capacity(rows.len());
    let rows: Vec<Named> = rows.into_iter().map(Named).collect();
    for row in &rows {
        if row.maybe_integer("execution_id")?.is_some() {
            logs.extend([from_row::log_end(row)?]);
        }
    }
    let first = rows.first().ok_or_else(|| store_error(sqlx::Error::RowNotFound))?;
    Ok((first.instant("now")?, logs))
}

async fn find_event_ids(
    connection: &mut PgConnection,
    batch: &[&Append],
) -> Result<HashSet<EventId>, Unwritten> {
    let events = batch.iter().flat_map(|append| &append.events);
    let ids: Vec<i64> = events.map(|event| event.event_id.0).collect();
    let used: Vec<i64> = query_scalar(include_str!("../sql/find_event_ids.sql"))
        .bind(&ids)
        .bind(ids.iter().min())
        .bind(ids.iter().max())
        .fetch_all(connection)
        .await?;
    Ok(used.into_iter().map(EventId).collect())
}

/// Looks up the child executions of some commands.
pub(crate) async fn find_children(
    connection: &mut PgConnection,
    parents: &[CommandKey],
) -> Result<HashMap<CommandKey, ExecutionId>, StoreError> {
    if parents.is_empty() {
        return Ok(HashMap::new());
    }
    let children: Vec<(i64, i64, i64)> = query_as(include_str!("../sql/find_children.sql"))
        .bind(parents.iter().map(|(execution, _)| execution.0).collect::<Vec<_>>())
        .bind(parents.iter().map(|(_, command)| stored(command.0)).collect::<Vec<_>>())
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    children
        .into_iter()
        .map(|(parent, command, child)| {
            let command = CommandId(unsigned(command, "parent_command_id")?);
            Ok(((ExecutionId(parent), command), ExecutionId(child)))
        })
        .collect()
}

/// Looks up the events at which forks start.
pub(crate) async fn find_fork_origins(
    connection: &mut PgConnection,
    points: &[ForkPoint],
) -> Result<ForkOrigins, StoreError> {
    if points.is_empty() {
        return Ok(ForkOrigins::new());
    }
    let rows = query(include_str!("../sql/find_fork_origins.sql"))
        .bind(points.iter().map(|point| point.execution.0).collect::<Vec<_>>())
        .bind(points.iter().map(|point| stored(point.seq.0)).collect::<Vec<_>>())
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    rows.into_iter().map(|row| from_row::fork_origin(&Named(row))).collect()
}

/// Loads and locks the open commands with the given keys until the end of the transaction.
async fn lock_commands(
    connection: &mut PgConnection,
    keys: &[CommandKey],
) -> Result<HashMap<CommandKey, OpenCommand>, StoreError> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = query(STATEMENTS.lock_commands.text)
        .bind(keys.iter().map(|(execution, _)| execution.0).collect::<Vec<_>>())
        .bind(keys.iter().map(|(_, command)| stored(command.0)).collect::<Vec<_>>())
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    rows.into_iter().map(|row| from_row::open_command(&Named(row))).collect()
}
