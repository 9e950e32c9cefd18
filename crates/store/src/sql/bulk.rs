//! Bulk jobs and the results of their executions.

use noetl_model::{ExecutionId, Timestamp};

use super::{
    SqlArgument, SqlColumn, SqlDatabase, SqlTransaction as _, TransactionKind, all_of, first_of,
    is_written, maybe_cow,
};
use crate::from_row::Columns;
use crate::to_row::{at_most, to_json};
use crate::{BulkItem, BulkItemPage, BulkJob, BulkOutcome, BulkState, PAGE_MAX, StoreError};

pub async fn add_bulk_job<D: SqlDatabase>(
    database: &D,
    job: &BulkJob,
) -> Result<BulkJob, StoreError> {
    let sql = database.sql();
    if is_written(database, &sql.put_bulk_job, &job_arguments(job)).await? {
        return Ok(job.clone());
    }
    let name = job.key.as_ref().map(|key| key.name.as_str());
    let existing =
        first_of(database, &sql.find_bulk_job_by_key, &[name.into()], bulk_job_row).await?;
    // A job under the same key that is deleted meanwhile has ended long ago.
    existing.ok_or_else(|| StoreError::Unavailable("a bulk job was not stored".into()))
}

/// Returns the arguments of the statements that write a job.
fn job_arguments(job: &BulkJob) -> [SqlArgument<'_>; 6] {
    [
        job.id.into(),
        job.seq.into(),
        (job.state == BulkState::Running).into(),
        job.key.as_ref().map(|key| key.name.as_str()).into(),
        job.ended_at.into(),
        to_json(job).into(),
    ]
}

pub async fn bulk_job<D: SqlDatabase>(
    database: &D,
    id: i64,
) -> Result<Option<BulkJob>, StoreError> {
    first_of(database, &database.sql().find_bulk_job, &[id.into()], bulk_job_row).await
}

pub async fn bulk_jobs<D: SqlDatabase>(
    database: &D,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<BulkJob>, StoreError> {
    let arguments = [before.unwrap_or(i64::MAX).into(), at_most(limit, PAGE_MAX).into()];
    all_of(database, &database.sql().list_bulk_jobs, &arguments, bulk_job_row).await
}

pub async fn open_bulk_jobs<D: SqlDatabase>(database: &D) -> Result<Vec<BulkJob>, StoreError> {
    let arguments = [at_most(PAGE_MAX, PAGE_MAX).into()];
    all_of(database, &database.sql().open_bulk_jobs, &arguments, bulk_job_row).await
}

pub async fn record_bulk<D: SqlDatabase>(
    database: &D,
    job: &BulkJob,
    items: &[BulkItem],
) -> Result<bool, StoreError> {
    let sql = database.sql();
    let mut transaction = database.begin(TransactionKind::Durable).await?;
    let moved = transaction.rows(&sql.move_bulk_job, &job_arguments(job)).await?;
    if moved.is_empty() {
        return Ok(false);
    }
    if !items.is_empty() {
        let arguments = [job.id.into(), item_rows(items)];
        transaction.rows(&sql.put_bulk_items, &arguments).await?;
    }
    transaction.commit().await?;
    Ok(true)
}

fn item_rows(items: &[BulkItem]) -> SqlArgument<'_> {
    let outcomes = items.iter().map(|item| Some(item.outcome.as_str().into()));
    SqlArgument::Rows(vec![
        SqlColumn::Integers(items.iter().map(|item| item.execution.0).collect()),
        SqlColumn::Texts(outcomes.collect()),
        SqlColumn::MaybeIntegers(items.iter().map(|item| item.started.map(|id| id.0)).collect()),
        SqlColumn::Texts(items.iter().map(|item| maybe_cow(&item.message)).collect()),
    ])
}

pub async fn bulk_items<D: SqlDatabase>(
    database: &D,
    job: i64,
    page: BulkItemPage,
) -> Result<Vec<BulkItem>, StoreError> {
    let limit = SqlArgument::from(at_most(page.limit, PAGE_MAX));
    let before = SqlArgument::from(page.before.map_or(i64::MAX, |before| before.0));
    let sql = database.sql();
    let outcome = page.outcome.map(BulkOutcome::as_str);
    let (statement, arguments) = match outcome {
        None => (&sql.list_bulk_items, vec![job.into(), before, limit]),
        Some(outcome) => {
            (&sql.list_bulk_items_by_outcome, vec![job.into(), before, limit, outcome.into()])
        }
    };
    all_of(database, statement, &arguments, |row| {
        Ok(BulkItem {
            execution: ExecutionId(row.integer("execution_id")?),
            outcome: row.word("outcome", || format!("an item of bulk job {job}"))?,
            started: row.maybe_integer("started_execution_id")?.map(ExecutionId),
            message: row.maybe_string("message")?,
        })
    })
    .await
}

pub async fn forget_bulk_jobs<D: SqlDatabase>(
    database: &D,
    before: Timestamp,
    limit: usize,
) -> Result<u64, StoreError> {
    let arguments = [before.into(), at_most(limit, PAGE_MAX).into()];
    database.write(&database.sql().forget_bulk_jobs, &arguments).await
}

fn bulk_job_row(row: &impl Columns) -> Result<BulkJob, StoreError> {
    row.json("body", || "a bulk job".to_owned())
}
