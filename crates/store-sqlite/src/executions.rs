//! Executions at a glance, and the search for those that nothing can move.

use async_trait::async_trait;
use noetl_model::{
    CatalogId, CommandId, ExecutionId, ParentCommand, PlaybookRef, Seq, StepCounts, StepName,
    Summary, Timestamp,
};
use noetl_store::{ExecutionFilter, Executions, PAGE_MAX, Page, StoreError};
use sqlx::sqlite::SqliteRow;
use sqlx::{query, query_scalar};

use crate::SqliteStore;
use crate::row::{at_most, get, json, store_error, stored, word};

#[async_trait]
impl Executions for SqliteStore {
    async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError> {
        let row = query(include_str!("../sql/find_summary.sql"))
            .bind(execution.0)
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)?;
        row.as_ref().map(summary).transpose()
    }

    async fn list(&self, filter: &ExecutionFilter, page: Page) -> Result<Vec<Summary>, StoreError> {
        let ExecutionFilter { status, path, parent } = filter;
        let statement = match (status, parent) {
            (None, None) => include_str!("../sql/list_executions.sql"),
            (Some(_), None) => include_str!("../sql/list_executions_by_status.sql"),
            (_, Some(_)) => include_str!("../sql/list_executions_by_parent.sql"),
        };
        let rows = query(statement)
            .bind(page.before.map_or(i64::MAX, |before| before.0))
            .bind(path.as_ref().map(|part| part.to_lowercase()))
            .bind(at_most(page.limit, PAGE_MAX))
            .bind(status.map(|status| status.as_str()))
            .bind(parent.map(|parent| parent.0))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        rows.iter().map(summary).collect()
    }

    async fn stalled(
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

    async fn child_of(
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

fn summary(row: &SqliteRow) -> Result<Summary, StoreError> {
    let execution = ExecutionId(get(row, "execution_id")?);
    let what = || format!("the summary of execution {execution}");
    let parent = match (get(row, "parent_execution_id")?, get(row, "parent_command_id")?) {
        (Some(execution), Some(command)) => {
            Some(ParentCommand { execution: ExecutionId(execution), command: CommandId(command) })
        }
        _ => None,
    };
    Ok(Summary {
        execution,
        playbook: PlaybookRef {
            catalog_id: CatalogId(get(row, "catalog_id")?),
            path: get(row, "path")?,
            version: get(row, "version")?,
        },
        status: word(get(row, "status")?, what)?,
        seq: Seq(get(row, "seq")?),
        started_at: Timestamp::from_micros(get(row, "started_at")?),
        ended_at: get::<Option<i64>>(row, "ended_at")?.map(Timestamp::from_micros),
        parent,
        current_step: get::<Option<&str>>(row, "current_step")?.map(StepName::new),
        steps: StepCounts {
            total: get(row, "steps_total")?,
            running: get(row, "steps_running")?,
            completed: get(row, "steps_completed")?,
            failed: get(row, "steps_failed")?,
        },
        error: get::<Option<&str>>(row, "error")?.map(|error| json(error, what)).transpose()?,
    })
}
