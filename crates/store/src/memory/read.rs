//! The smaller ports in memory: timers, payloads, catalog, snapshots, executions.

use async_trait::async_trait;
use noetl_model::{
    CatalogId, CommandId, Digest, ExecutionId, ExecutionStatus, Summary, TimerId, Timestamp,
};

use super::{ExecutionRow, MemoryStore, Tables};
use crate::{
    Catalog, CatalogEntry, ExecutionFilter, Executions, NewPlaybook, PAGE_MAX, Page, Payloads,
    Snapshot, Snapshots, StoreError, TimerRow, Timers,
};

#[async_trait]
impl Timers for MemoryStore {
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<TimerRow>, StoreError> {
        let tables = self.tables();
        let mut due: Vec<_> = tables
            .timers
            .iter()
            .filter(|&(_, &due_at)| due_at <= now)
            .map(|(&(execution, timer), &due_at)| TimerRow { execution, timer, due_at })
            .collect();
        due.sort_by_key(|row| (row.due_at, row.execution, row.timer));
        due.truncate(limit.min(PAGE_MAX));
        Ok(due)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.tables().timers.values().min().copied())
    }
}

#[async_trait]
impl Payloads for MemoryStore {
    async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.tables().payloads.get(digest).cloned())
    }
}

#[async_trait]
impl Catalog for MemoryStore {
    async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError> {
        let NewPlaybook { catalog_id, path, kind, content, created_at } = playbook;
        let mut tables = self.tables();
        let versions = tables.catalog.entry(path.clone()).or_default();
        if let Some(newest) = versions.last()
            && newest.content == content
        {
            return Ok(newest.clone());
        }
        let version = versions.last().map_or(1, |newest| newest.version + 1);
        let entry = CatalogEntry { catalog_id, path, version, kind, content, created_at };
        versions.push(entry.clone());
        Ok(entry)
    }

    async fn by_id(&self, catalog_id: CatalogId) -> Result<Option<CatalogEntry>, StoreError> {
        let tables = self.tables();
        let mut entries = tables.catalog.values().flatten();
        Ok(entries.find(|entry| entry.catalog_id == catalog_id).cloned())
    }

    async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        let tables = self.tables();
        let Some(versions) = tables.catalog.get(path) else {
            return Ok(None);
        };
        Ok(match version {
            Some(version) => versions.iter().find(|entry| entry.version == version).cloned(),
            None => versions.last().cloned(),
        })
    }

    async fn paths(&self, limit: usize) -> Result<Vec<CatalogEntry>, StoreError> {
        let tables = self.tables();
        let newest = tables.catalog.values().filter_map(|versions| versions.last());
        Ok(newest
            .take(limit.min(PAGE_MAX))
            .map(|entry| CatalogEntry { content: String::new(), ..entry.clone() })
            .collect())
    }
}

#[async_trait]
impl Snapshots for MemoryStore {
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        let mut tables = self.tables();
        if tables.snapshots.get(&execution).is_none_or(|saved| saved.seq <= snapshot.seq) {
            tables.snapshots.insert(execution, snapshot.clone());
        }
        Ok(())
    }

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.tables().snapshots.get(&execution).cloned())
    }
}

impl ExecutionFilter {
    fn admits(&self, summary: &Summary) -> bool {
        let Self { status, path, parent } = self;
        status.is_none_or(|status| summary.status == status)
            && path.as_ref().is_none_or(|part| {
                summary.playbook.path.to_lowercase().contains(&part.to_lowercase())
            })
            && parent.is_none_or(|parent| {
                summary.parent.is_some_and(|command| command.execution == parent)
            })
    }
}

impl ExecutionRow {
    fn last_event_at(&self) -> Timestamp {
        self.log.last().map_or(self.summary.started_at, |recorded| recorded.at)
    }
}

impl Tables {
    /// Whether nothing can move a running execution.
    fn is_stalled(&self, execution: ExecutionId, row: &ExecutionRow, before: Timestamp) -> bool {
        let timers = (execution, TimerId(0))..=(execution, TimerId(u64::MAX));
        row.summary.status == ExecutionStatus::Running
            && row.last_event_at() < before
            && !self.commands.any_of(execution)
            && self.timers.range(timers).next().is_none()
            && !self.outbox.any_of(execution)
    }
}

#[async_trait]
impl Executions for MemoryStore {
    async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError> {
        Ok(self.tables().executions.get(&execution).map(|row| row.summary.clone()))
    }

    async fn list(&self, filter: &ExecutionFilter, page: Page) -> Result<Vec<Summary>, StoreError> {
        let tables = self.tables();
        let newest_first = tables.executions.iter().rev();
        Ok(newest_first
            .filter(|(execution, _)| page.before.is_none_or(|before| **execution < before))
            .map(|(_, row)| &row.summary)
            .filter(|summary| filter.admits(summary))
            .take(page.limit.min(PAGE_MAX))
            .cloned()
            .collect())
    }

    async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        let tables = self.tables();
        let mut stalled: Vec<_> = tables
            .executions
            .iter()
            .filter(|(execution, row)| tables.is_stalled(**execution, row, before))
            .map(|(execution, row)| (row.last_event_at(), *execution))
            .collect();
        stalled.sort();
        stalled.truncate(limit.min(PAGE_MAX));
        Ok(stalled.into_iter().map(|(_, execution)| execution).collect())
    }

    async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError> {
        Ok(self.tables().children.get(&(parent, command)).copied())
    }
}
