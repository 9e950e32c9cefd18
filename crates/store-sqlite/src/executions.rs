//! Execution summaries on SQLite, and the search for stalled executions.

use noetl_model::{CommandId, ExecutionId, Summary, Timestamp};
use noetl_store::from_row;
use noetl_store::to_row::{at_most, stored};
use noetl_store::{ExecutionFilter, Lookup, PAGE_MAX, Page, PathFilter, StoreError};
use sqlx::{query, query_scalar};

use crate::SqliteStore;
use crate::row::{NamedRow, array, store_error};

impl SqliteStore {
    pub(crate) async fn summary(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Summary>, StoreError> {
        let row =
            self.row(query(include_str!("../sql/find_summary.sql")).bind(execution.0)).await?;
        row.as_ref().map(NamedRow).map(from_row::summary).transpose()
    }

    pub(crate) async fn list(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, StoreError> {
        let lookup = filter.lookup();
        let statement = match lookup {
            Lookup::Parent => include_str!("../sql/list_executions_by_parent.sql"),
            Lookup::Catalog => include_str!("../sql/list_executions_by_catalog.sql"),
            Lookup::Path => include_str!("../sql/list_executions_by_path.sql"),
            Lookup::Part => include_str!("../sql/list_executions_by_part.sql"),
            Lookup::Status => include_str!("../sql/list_executions_by_status.sql"),
            Lookup::All => include_str!("../sql/list_executions.sql"),
        };
        let status = match lookup {
            Lookup::Parent | Lookup::Catalog | Lookup::Path | Lookup::Part => {
                Some(array(filter.statuses().iter().map(|status| status.as_str())))
            }
            Lookup::Status | Lookup::All => filter.status.map(|status| status.as_str().to_owned()),
        };
        let statement = query(statement)
            .bind(page.before.map_or(i64::MAX, |before| before.0))
            .bind(filter.path.as_ref().map(PathFilter::folded))
            .bind(at_most(page.limit, PAGE_MAX))
            .bind(status)
            .bind(filter.path.as_ref().and_then(PathFilter::whole))
            .bind(filter.catalog_id.map(|id| id.0))
            .bind(filter.parent.map(|parent| parent.0));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::summary).collect()
    }

    pub(crate) async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        let ids: Vec<i64> = query_scalar(include_str!("../sql/stalled_executions.sql"))
            .bind(before.as_micros())
            .bind(at_most(limit, PAGE_MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(ids.into_iter().map(ExecutionId).collect())
    }

    pub(crate) async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError> {
        let child: Option<i64> = query_scalar(include_str!("../sql/find_child.sql"))
            .bind(parent.0)
            .bind(stored(command.0))
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(child.map(ExecutionId))
    }
}
