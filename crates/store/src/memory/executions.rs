//! In-memory execution summaries, and the search for stalled executions.

use noetl_model::{
    CommandId, ExecutionId, ExecutionStatus, Summary, TimerId, Timestamp, word_index_entry,
};

use super::{MemoryExecution, MemoryStore, MemoryTables};
use crate::{
    ExecutionFilter, HistogramBar, HistogramSpan, PAGE_MAX, Page, StoreError, merged_bars,
};

impl ExecutionFilter {
    /// True if the filter selects an execution with this summary and no indexed words.
    pub fn admits(&self, summary: &Summary) -> bool {
        self.admits_with(summary, |_| false)
    }

    /// True if the filter selects an execution with this summary and the indexed words that `has` admits.
    fn admits_with(&self, summary: &Summary, has: impl Fn(&str) -> bool) -> bool {
        let Self { status, path, catalog_id, parent, labels, actor, text } = self;
        status.is_none_or(|status| summary.status == status)
            && path.as_ref().is_none_or(|path| path.admits(&summary.playbook.path))
            && catalog_id.is_none_or(|id| summary.playbook.catalog_id == id)
            && parent.is_none_or(|parent| {
                summary.parent.is_some_and(|above| above.execution() == parent)
            })
            && labels.iter().all(|label| summary.labels.has(label))
            && actor.as_ref().is_none_or(|actor| summary.actor.as_ref() == Some(actor))
            && text.as_ref().is_none_or(|text| text.matches(&summary.playbook.path, has))
    }
}

impl MemoryExecution {
    fn last_event_at(&self) -> Timestamp {
        self.log.last().map_or(self.summary.started_at, |recorded| recorded.at)
    }
}

impl MemoryTables {
    /// True if a filter selects an execution.
    fn admits(&self, filter: &ExecutionFilter, summary: &Summary) -> bool {
        filter.admits_with(summary, |word| {
            self.index.has(&word_index_entry(word, summary.status), summary.execution)
        })
    }

    /// True if a running execution has no open work that could move it.
    fn is_stalled(&self, execution: ExecutionId, row: &MemoryExecution, before: Timestamp) -> bool {
        let timers = (execution, TimerId(0))..=(execution, TimerId(u64::MAX));
        row.summary.status == ExecutionStatus::Running
            && row.last_event_at() < before
            && !self.commands.any_of(execution)
            && self.timers.range(timers).next().is_none()
            && !self.outbox.any_of(execution)
    }
}

impl MemoryStore {
    pub(crate) async fn summary(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Summary>, StoreError> {
        Ok(self.lock().executions.get(&execution).map(|row| row.summary.clone()))
    }

    pub(crate) async fn list(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, StoreError> {
        let tables = self.lock();
        let newest_first = tables.executions.iter().rev();
        Ok(newest_first
            .filter(|(execution, _)| page.before.is_none_or(|before| **execution < before))
            .map(|(_, row)| &row.summary)
            .filter(|summary| tables.admits(filter, summary))
            .take(page.limit.min(PAGE_MAX))
            .cloned()
            .collect())
    }

    pub(crate) async fn histogram(
        &self,
        filter: &ExecutionFilter,
        span: &HistogramSpan,
        count_max: u64,
    ) -> Result<Vec<HistogramBar>, StoreError> {
        if span.from >= span.until {
            return Ok(Vec::new());
        }
        let tables = self.lock();
        let counted = tables.executions.range(ExecutionId(span.from)..ExecutionId(span.until));
        let bars = counted.filter(|(_, row)| tables.admits(filter, &row.summary)).filter_map(
            |(id, row)| {
                let (bucket, status) = (span.bucket(*id)?, row.summary.status);
                Some(HistogramBar { bucket, status, count: 1 })
            },
        );
        Ok(merged_bars(vec![bars.collect()], count_max))
    }

    pub(crate) async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        let tables = self.lock();
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

    pub(crate) async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError> {
        Ok(self.lock().children.get(&(parent, command)).copied())
    }
}
