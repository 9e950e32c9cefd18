//! Projected events and imported executions on SQLite.

use std::collections::BTreeSet;

use noetl_model::{Envelope, ExecutionId, Timestamp};
use noetl_store::from_row::Columns as _;
use noetl_store::to_row::{at_most, stored, to_json};
use noetl_store::{
    EventSpan, ExecutionFilter, ImportedExecution, PAGE_MAX, PROJECT_MAX, Page, PathFilter,
    ProjectedEvent, ProjectedOnto, StoreError,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{SqliteConnection, query};

use crate::SqliteStore;
use crate::row::{NamedRow, array, get, store_error};
use crate::store::begin;

impl SqliteStore {
    pub(crate) async fn project(&self, events: &[ProjectedEvent]) -> Result<u64, StoreError> {
        let rows = array(events.iter().map(|ProjectedEvent { envelope, onto: _ }| {
            let created_at = envelope.created_at.as_micros();
            (envelope.event_id, envelope.execution_id, created_at, to_json(envelope))
        }));
        let mut writer = self.writer().await?;
        let mut transaction = begin(&mut writer).await?;
        let new = query(include_str!("../../sql/project_events.sql"))
            .bind(rows)
            .fetch_all(&mut *transaction)
            .await
            .map_err(store_error)?;
        let new: BTreeSet<i64> =
            new.iter().map(|row| get(row, "event_id")).collect::<Result<_, _>>()?;
        let stored = new.len() as u64;
        let known = known_among(&mut transaction, events).await?;
        for changed in ImportedExecution::with_all(known, events, new) {
            put_imported(&mut transaction, &changed).await?;
        }
        transaction.commit().await.map_err(store_error)?;
        Ok(stored)
    }

    pub(crate) async fn projected(
        &self,
        execution: i64,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        let statement = query(include_str!("../../sql/read_projected.sql"))
            .bind(execution)
            .bind(after)
            .bind(at_most(limit, PROJECT_MAX));
        envelopes(execution, &self.rows(statement).await?)
    }

    pub(crate) async fn projected_from(
        &self,
        execution: i64,
        skipped: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        let statement = query(include_str!("../../sql/read_projected_from.sql"))
            .bind(execution)
            .bind(stored(skipped))
            .bind(at_most(limit, PROJECT_MAX));
        envelopes(execution, &self.rows(statement).await?)
    }

    pub(crate) async fn projected_within(
        &self,
        execution: i64,
        span: EventSpan,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        let statement = query(include_str!("../../sql/read_projected_within.sql"))
            .bind(execution)
            .bind(span.after.at.as_micros())
            .bind(span.after.event_id)
            .bind(span.until.at.as_micros())
            .bind(span.until.event_id)
            .bind(at_most(limit, PROJECT_MAX));
        envelopes(execution, &self.rows(statement).await?)
    }

    pub(crate) async fn imported(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<ImportedExecution>, StoreError> {
        let statement = query(include_str!("../../sql/find_imported.sql")).bind(execution.0);
        self.row(statement).await?.as_ref().map(imported).transpose()
    }

    pub(crate) async fn list_imported(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<ImportedExecution>, StoreError> {
        let path = filter.path.as_ref();
        let statement = match filter.parent {
            Some(_) => include_str!("../../sql/list_imported_by_parent.sql"),
            None => include_str!("../../sql/list_imported.sql"),
        };
        let statement = query(statement)
            .bind(page.before.map_or(i64::MAX, |before| before.0))
            .bind(at_most(page.limit, PAGE_MAX))
            .bind(filter.status.map(|status| status.as_str()))
            .bind(path.map(PathFilter::folded))
            .bind(path.and_then(PathFilter::whole))
            .bind(filter.catalog_id.map(|id| id.0));
        let statement = match filter.parent {
            Some(parent) => statement.bind(parent.0),
            None => statement,
        };
        self.rows(statement).await?.iter().map(imported).collect()
    }

    pub(crate) async fn forget_projected(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let limit = at_most(limit, PROJECT_MAX);
        let imported = query(include_str!("../../sql/forget_imported.sql"));
        self.write(imported.bind(before.as_micros()).bind(limit)).await?;
        let events = query(include_str!("../../sql/forget_projected.sql"));
        self.write(events.bind(before.as_micros()).bind(limit)).await
    }
}

fn envelopes(execution: i64, rows: &[SqliteRow]) -> Result<Vec<Envelope>, StoreError> {
    let what = || format!("a projected event of execution {execution}");
    rows.iter().map(|row| NamedRow(row).json("envelope", what)).collect()
}

fn imported(row: &SqliteRow) -> Result<ImportedExecution, StoreError> {
    NamedRow(row).json("body", || "an imported execution".to_owned())
}

/// Returns the stored imported executions that events name.
async fn known_among(
    connection: &mut SqliteConnection,
    events: &[ProjectedEvent],
) -> Result<Vec<ImportedExecution>, StoreError> {
    let executions: BTreeSet<i64> = events
        .iter()
        .filter_map(|event| match event.onto {
            ProjectedOnto::Imported(_) => Some(event.envelope.execution_id),
            ProjectedOnto::Existing => None,
        })
        .collect();
    let mut known = Vec::new();
    for execution in executions {
        let row = query(include_str!("../../sql/find_imported.sql"))
            .bind(execution)
            .fetch_optional(&mut *connection)
            .await
            .map_err(store_error)?;
        known.extend(row.as_ref().map(imported).transpose()?);
    }
    Ok(known)
}

async fn put_imported(
    connection: &mut SqliteConnection,
    imported: &ImportedExecution,
) -> Result<(), StoreError> {
    let playbook = &imported.summary.playbook;
    query(include_str!("../../sql/put_imported.sql"))
        .bind(imported.summary.execution.0)
        .bind(imported.summary.status.as_str())
        .bind(&playbook.path)
        .bind(playbook.path.to_lowercase())
        .bind(playbook.catalog_id.0)
        .bind(imported.parent().map(|parent| parent.0))
        .bind(imported.last_at.as_micros())
        .bind(to_json(imported))
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(())
}
