//! Projected events and imported executions on PostgreSQL.

use std::collections::BTreeSet;

use noetl_model::{Envelope, ExecutionId, Timestamp};
use noetl_store::from_row::Columns as _;
use noetl_store::to_row::{at_most, stored, to_json};
use noetl_store::{
    EventSpan, ExecutionFilter, ImportedExecution, PAGE_MAX, PROJECT_MAX, Page, PathFilter,
    ProjectedEvent, ProjectedOnto, StoreError,
};
use sqlx::postgres::PgRow;
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::pool::PooledTransaction;
use crate::row::{Named, get, plain, store_error};

impl PgStore {
    pub(crate) async fn project(&self, events: &[ProjectedEvent]) -> Result<u64, StoreError> {
        let executions: BTreeSet<i64> =
            events.iter().filter(|event| is_imported(event)).map(execution_of).collect();
        let executions: Vec<i64> = executions.into_iter().collect();
        let mut transaction = self.begin().await?;
        query(include_str!("../../sql/lock_imported.sql"))
            .bind(&executions)
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        let new = put_events(&mut transaction, events).await?;
        let stored = new.len() as u64;
        put_imported(&mut transaction, &executions, events, new).await?;
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
            .bind(Instant(span.after.at))
            .bind(span.after.event_id)
            .bind(Instant(span.until.at))
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
            .bind(path.map(|path| plain(&path.folded()).into_owned()))
            .bind(path.and_then(PathFilter::whole).map(plain))
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
        self.write(imported.bind(Instant(before)).bind(limit)).await?;
        let events = query(include_str!("../../sql/forget_projected.sql"));
        self.write(events.bind(Instant(before)).bind(limit)).await
    }
}

fn is_imported(event: &ProjectedEvent) -> bool {
    match event.onto {
        ProjectedOnto::Imported(_) => true,
        ProjectedOnto::Existing => false,
    }
}

fn execution_of(event: &ProjectedEvent) -> i64 {
    event.envelope.execution_id
}

fn envelopes(execution: i64, rows: &[PgRow]) -> Result<Vec<Envelope>, StoreError> {
    let what = || format!("a projected event of execution {execution}");
    rows.iter().map(|row| Named(row).json("envelope", what)).collect()
}

fn imported(row: &PgRow) -> Result<ImportedExecution, StoreError> {
    Named(row).json("body", || "an imported execution".to_owned())
}

/// Stores events and returns the ids of the new ones.
async fn put_events(
    transaction: &mut PooledTransaction,
    events: &[ProjectedEvent],
) -> Result<BTreeSet<i64>, StoreError> {
    let envelopes = || events.iter().map(|event| &event.envelope);
    let rows = query(include_str!("../../sql/project_events.sql"))
        .bind(envelopes().map(|event| event.event_id).collect::<Vec<_>>())
        .bind(envelopes().map(|event| event.execution_id).collect::<Vec<_>>())
        .bind(envelopes().map(|event| Instant(event.created_at)).collect::<Vec<_>>())
        .bind(envelopes().map(|event| plain(&to_json(event)).into_owned()).collect::<Vec<_>>())
        .fetch_all(&mut **transaction)
        .await
        .map_err(store_error)?;
    rows.iter().map(|row| get(row, "event_id")).collect()
}

/// Updates the imported executions of the new events.
async fn put_imported(
    transaction: &mut PooledTransaction,
    executions: &[i64],
    events: &[ProjectedEvent],
    new: BTreeSet<i64>,
) -> Result<(), StoreError> {
    let rows = query(include_str!("../../sql/find_imported_among.sql"))
        .bind(executions)
        .fetch_all(&mut **transaction)
        .await
        .map_err(store_error)?;
    let known = rows.iter().map(imported).collect::<Result<Vec<_>, _>>()?;
    let changed = ImportedExecution::with_all(known, events, new);
    let column = |text: &dyn Fn(&ImportedExecution) -> String| -> Vec<String> {
        changed.iter().map(|it| plain(&text(it)).into_owned()).collect()
    };
    query(include_str!("../../sql/put_imported.sql"))
        .bind(changed.iter().map(|it| it.summary.execution.0).collect::<Vec<_>>())
        .bind(column(&|it| it.summary.status.to_string()))
        .bind(column(&|it| it.summary.playbook.path.clone()))
        .bind(column(&|it| it.summary.playbook.path.to_lowercase()))
        .bind(changed.iter().map(|it| it.summary.playbook.catalog_id.0).collect::<Vec<_>>())
        .bind(changed.iter().map(|it| it.parent().map(|it| it.0)).collect::<Vec<_>>())
        .bind(changed.iter().map(|it| Instant(it.last_at)).collect::<Vec<_>>())
        .bind(column(&|it| to_json(it)))
        .execute(&mut **transaction)
        .await
        .map_err(store_error)?;
    Ok(())
}
