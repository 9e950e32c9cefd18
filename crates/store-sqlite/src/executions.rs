//! Executions at a glance, and the search for those that nothing can move.

use async_trait::async_trait;
use noetl_model::{
    CatalogId, CommandId, ExecutionId, ForkPoint, ItemCounts, Parent, PlaybookRef, Seq, StepCounts,
    StepName, Summary, Timestamp,
};
use noetl_store::{
    ExecutionFilter, Executions, MATCHED_PATHS_MAX, PAGE_MAX, Page, PathFilter, StoreError,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{query, query_scalar};

use crate::SqliteStore;
use crate::row::{at_most, digest, get, json, store_error, stored, word};

/// What a listing is looked up by; what else it asks for is checked row by row.
enum Lookup<'a> {
    Parent,
    Catalog,
    /// A path in lower case.
    Path(&'a str),
    Status,
    All,
}

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
        let ExecutionFilter { status, path, catalog_id, parent } = filter;
        match (parent, catalog_id, path, status) {
            (Some(_), ..) => self.listed(Lookup::Parent, filter, page).await,
            (None, Some(_), ..) => self.listed(Lookup::Catalog, filter, page).await,
            (None, None, Some(path), _) => self.list_by_path(path, filter, page).await,
            (None, None, None, Some(_)) => self.listed(Lookup::Status, filter, page).await,
            (None, None, None, None) => self.listed(Lookup::All, filter, page).await,
        }
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

impl SqliteStore {
    async fn list_by_path(
        &self,
        path: &PathFilter,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, StoreError> {
        let paths = match path {
            PathFilter::Whole(_) => vec![path.folded()],
            PathFilter::Part(_) => self.matching_paths(&path.folded()).await?,
        };
        if paths.len() > MATCHED_PATHS_MAX {
            let lookup = if filter.status.is_some() { Lookup::Status } else { Lookup::All };
            return self.listed(lookup, filter, page).await;
        }
        let mut parts = Vec::with_capacity(paths.len());
        for path in &paths {
            parts.push(self.listed(Lookup::Path(path), filter, page).await?);
        }
        Ok(page.of(parts))
    }

    /// Folded paths that contain a text; one more than are looked up one by one at most.
    async fn matching_paths(&self, part: &str) -> Result<Vec<String>, StoreError> {
        query_scalar(include_str!("../sql/match_paths.sql"))
            .bind(part)
            .bind(at_most(MATCHED_PATHS_MAX + 1, PAGE_MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)
    }

    async fn listed(
        &self,
        lookup: Lookup<'_>,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, StoreError> {
        let part = || filter.path.as_ref().map(PathFilter::folded);
        let (statement, path) = match lookup {
            Lookup::Parent => (include_str!("../sql/list_executions_by_parent.sql"), part()),
            Lookup::Catalog => (include_str!("../sql/list_executions_by_catalog.sql"), part()),
            Lookup::Path(path) => {
                (include_str!("../sql/list_executions_by_path.sql"), Some(path.to_owned()))
            }
            Lookup::Status => (include_str!("../sql/list_executions_by_status.sql"), part()),
            Lookup::All => (include_str!("../sql/list_executions.sql"), part()),
        };
        let rows = query(statement)
            .bind(page.before.map_or(i64::MAX, |before| before.0))
            .bind(path)
            .bind(at_most(page.limit, PAGE_MAX))
            .bind(filter.status.map(|status| status.as_str()))
            .bind(filter.path.as_ref().and_then(PathFilter::whole))
            .bind(filter.catalog_id.map(|id| id.0))
            .bind(filter.parent.map(|parent| parent.0))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        rows.iter().map(summary).collect()
    }
}

fn summary(row: &SqliteRow) -> Result<Summary, StoreError> {
    let execution = ExecutionId(get(row, "execution_id")?);
    let what = || format!("the summary of execution {execution}");
    let command = get::<Option<u64>>(row, "parent_command_id")?.map(CommandId);
    let parent: Option<i64> = get(row, "parent_execution_id")?;
    let parent = parent.map(|execution| Parent::of(ExecutionId(execution), command));
    let fork = match (get(row, "fork_execution_id")?, get(row, "fork_seq")?) {
        (Some(execution), Some(seq)) => {
            Some(ForkPoint { execution: ExecutionId(execution), seq: Seq(seq) })
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
        items: ItemCounts {
            total: get(row, "items_total")?,
            completed: get(row, "items_completed")?,
            failed: get(row, "items_failed")?,
        },
        error: get::<Option<&str>>(row, "error")?.map(|error| json(error, what)).transpose()?,
        head: get::<Option<&[u8]>>(row, "head_digest")?.map(digest).transpose()?,
        fork,
    })
}
