//! Execution summaries on PostgreSQL, and the search for stalled executions.

use noetl_model::{CommandId, ExecutionId, ExecutionStatus, Summary, Timestamp};
use noetl_store::from_row::{self, Columns as _};
use noetl_store::to_row::{at_most, stored};
use noetl_store::{ExecutionFilter, Lookup, PAGE_MAX, Page, PathFilter, StoreError};
use sqlx::{query, query_scalar};

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, get, plain, store_error};

impl PgStore {
    pub(crate) async fn summary(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Summary>, StoreError> {
        let row =
            self.row(query(include_str!("../sql/find_summary.sql")).bind(execution.0)).await?;
        row.as_ref().map(Named).map(from_row::summary).transpose()
    }

    pub(crate) async fn list(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, StoreError> {
        let lookup = filter.lookup();
        let text = |text: &str| plain(text).into_owned();
        let path = filter.path.as_ref().map(|path| text(&path.folded()));
        let whole = || filter.path.as_ref().and_then(PathFilter::whole).map(text);
        let status = filter.status.map(ExecutionStatus::as_str);
        let statuses =
            || filter.statuses().iter().map(|status| status.as_str()).collect::<Vec<_>>();
        let catalog_id = filter.catalog_id.map(|id| id.0);
        let statement = match lookup {
            Lookup::Parent => include_str!("../sql/list_executions_by_parent.sql"),
            Lookup::Catalog => include_str!("../sql/list_executions_by_catalog.sql"),
            Lookup::Path => include_str!("../sql/list_executions_by_path.sql"),
            Lookup::Part => include_str!("../sql/list_executions_by_part.sql"),
            Lookup::Status => include_str!("../sql/list_executions_by_status.sql"),
            Lookup::All => include_str!("../sql/list_executions.sql"),
        };
        let (before, limit) =
            (page.before.map_or(i64::MAX, |before| before.0), at_most(page.limit, PAGE_MAX));
        let statement = query(statement).bind(before);
        let statement = match lookup {
            Lookup::All => statement.bind(limit),
            Lookup::Status => statement.bind(limit).bind(status),
            Lookup::Part => statement.bind(path).bind(limit).bind(statuses()),
            Lookup::Path => statement.bind(path).bind(limit).bind(statuses()).bind(whole()),
            Lookup::Catalog => {
                let statement = statement.bind(path).bind(limit).bind(statuses());
                statement.bind(whole()).bind(catalog_id)
            }
            Lookup::Parent => {
                let parent = filter.parent.map(|parent| parent.0);
                let statement = statement.bind(path).bind(limit).bind(statuses());
                statement.bind(whole()).bind(catalog_id).bind(parent)
            }
        };
        let rows = self.rows(statement).await?;
        rows.iter().map(Named).map(from_row::summary).collect()
    }

    pub(crate) async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        let silent = self.silent(before, limit).await?;
        Ok(silent.into_iter().map(|(_, execution)| execution).collect())
    }

    pub(crate) async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError> {
        let child: Option<i64> = query_scalar(include_str!("../sql/find_child.sql"))
            .bind(parent.0)
            .bind(stored(command.0))
            .fetch_optional(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(child.map(ExecutionId))
    }
}

impl PgStore {
    /// Returns the stalled executions, each with the time of its last event.
    pub(crate) async fn silent(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Timestamp, ExecutionId)>, StoreError> {
        let statement = query(include_str!("../sql/stalled_executions.sql"))
            .bind(Instant(before))
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter()
            .map(|row| {
                Ok((Named(row).instant("last_event_at")?, ExecutionId(get(row, "execution_id")?)))
            })
            .collect()
    }
}
