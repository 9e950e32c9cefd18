//! Executions at a glance, and the search for those that nothing can move.

use async_trait::async_trait;
use noetl_model::{
    CatalogId, CommandId, ExecutionId, ParentCommand, PlaybookRef, Seq, StepCounts, StepName,
    Summary, Timestamp,
};
use noetl_store::{ExecutionFilter, Executions, PAGE_MAX, Page, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{query, query_scalar};

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{at_most, get, instant, json, number, plain, store_error, stored, unsigned, word};

#[async_trait]
impl Executions for PgStore {
    async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError> {
        let row = query(include_str!("../sql/find_summary.sql"))
            .bind(execution.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(store_error)?;
        row.as_ref().map(summary).transpose()
    }

    async fn list(&self, filter: &ExecutionFilter, page: Page) -> Result<Vec<Summary>, StoreError> {
        let ExecutionFilter { status, path, parent } = filter;
        let before = page.before.map_or(i64::MAX, |before| before.0);
        let part = path.as_ref().map(|part| plain(&part.to_lowercase()).into_owned());
        let limit = at_most(page.limit, PAGE_MAX);
        let status = status.map(|status| status.as_str());
        let statement = match (status, parent) {
            (None, None) => query(include_str!("../sql/list_executions.sql"))
                .bind(before)
                .bind(part)
                .bind(limit),
            (Some(status), None) => query(include_str!("../sql/list_executions_by_status.sql"))
                .bind(before)
                .bind(part)
                .bind(limit)
                .bind(status),
            (status, Some(parent)) => query(include_str!("../sql/list_executions_by_parent.sql"))
                .bind(before)
                .bind(part)
                .bind(limit)
                .bind(status)
                .bind(parent.0),
        };
        let rows = statement.fetch_all(&self.pool).await.map_err(store_error)?;
        rows.iter().map(summary).collect()
    }

    async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        let silent = self.silent(before, limit).await?;
        Ok(silent.into_iter().map(|(_, execution)| execution).collect())
    }

    async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError> {
        let child: Option<i64> = query_scalar(include_str!("../sql/find_child.sql"))
            .bind(parent.0)
            .bind(stored(command.0))
            .fetch_optional(&self.pool)
            .await
            .map_err(store_error)?;
        Ok(child.map(ExecutionId))
    }
}

impl PgStore {
    /// The executions that nothing can move, each with the time of its last event.
    pub(crate) async fn silent(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Timestamp, ExecutionId)>, StoreError> {
        let rows = query(include_str!("../sql/stalled_executions.sql"))
            .bind(Instant(before))
            .bind(at_most(limit, PAGE_MAX))
            .fetch_all(&self.pool)
            .await
            .map_err(store_error)?;
        rows.iter()
            .map(|row| Ok((instant(row, "last_event_at")?, ExecutionId(get(row, "execution_id")?))))
            .collect()
    }
}

fn summary(row: &PgRow) -> Result<Summary, StoreError> {
    let execution = ExecutionId(get(row, "execution_id")?);
    let what = || format!("the summary of execution {execution}");
    let parent = match (get(row, "parent_execution_id")?, get(row, "parent_command_id")?) {
        (Some(execution), Some(command)) => Some(ParentCommand {
            execution: ExecutionId(execution),
            command: CommandId(unsigned(command, "parent_command_id")?),
        }),
        _ => None,
    };
    Ok(Summary {
        execution,
        playbook: PlaybookRef {
            catalog_id: CatalogId(get(row, "catalog_id")?),
            path: get(row, "path")?,
            version: number(row, "version")?,
        },
        status: word(get(row, "status")?, what)?,
        seq: Seq(number(row, "seq")?),
        started_at: instant(row, "started_at")?,
        ended_at: get::<Option<Instant>>(row, "ended_at")?.map(|Instant(at)| at),
        parent,
        current_step: get::<Option<&str>>(row, "current_step")?.map(StepName::new),
        steps: StepCounts {
            total: number(row, "steps_total")?,
            running: number(row, "steps_running")?,
            completed: number(row, "steps_completed")?,
            failed: number(row, "steps_failed")?,
        },
        error: get::<Option<&str>>(row, "error")?.map(|error| json(error, what)).transpose()?,
    })
}
