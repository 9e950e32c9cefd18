//! In-memory output of running tools.

use std::collections::BTreeMap;

use noetl_model::{CommandId, ExecutionId, Held, LogAnswer, LogBatch, StoredLog, Timestamp};

use super::MemoryStore;
use crate::step_logs::executions_of;
use crate::{
    LOG_READ_MAX, LogLimits, LogOrder, LogPlan, LogProgress, LogRead, LogTotal, PAGE_MAX,
    PageSpace, StoreError, StoredLogTotals,
};

/// The output of one execution.
#[derive(Clone)]
pub(super) struct LogTable {
    total: LogTotal,
    last_at: Timestamp,
    progress: BTreeMap<Held, LogProgress>,
    logs: Vec<StoredLog>,
}

impl LogTable {
    fn new(now: Timestamp) -> Self {
        let (total, progress) = (LogTotal::default(), BTreeMap::new());
        Self { total, last_at: now, progress, logs: Vec::new() }
    }
}

impl MemoryStore {
    pub(crate) async fn append_logs(
        &self,
        batches: &[LogBatch],
        limits: LogLimits,
    ) -> Result<Vec<LogAnswer>, StoreError> {
        let now = self.clock.now();
        let mut tables = self.lock();
        let mut rows = StoredLogTotals::default();
        for execution in executions_of(batches).into_iter().map(ExecutionId) {
            if tables.executions.contains_key(&execution) {
                let table = tables.step_logs.entry(execution);
                let table = table.or_insert_with(|| LogTable::new(now));
                table.last_at = now;
                rows.totals.insert(execution, table.total);
                rows.progress.extend(table.progress.iter().map(|(held, it)| (*held, *it)));
            }
        }
        for source in batches.iter().map(|batch| &batch.source) {
            let key = (source.execution, source.command);
            if let Some(attempt) = tables.commands.attempt_of(key) {
                rows.open.insert(key, attempt);
            }
        }
        let plan = LogPlan::of(batches, limits, now, rows);
        for (execution, total) in plan.totals {
            let Some(table) = tables.step_logs.get_mut(&execution) else { continue };
            table.total = total;
            let of_it = plan.sources.iter().filter(|(source, _)| source.execution == execution);
            table.progress.extend(of_it.map(|(source, progress)| (source.held(), *progress)));
            let logs = plan.logs.iter().filter(|log| log.source.execution == execution);
            table.logs.extend(logs.cloned());
        }
        Ok(plan.answers)
    }

    pub(crate) async fn read_logs(
        &self,
        execution: ExecutionId,
        page: &LogRead,
    ) -> Result<Vec<StoredLog>, StoreError> {
        let tables = self.lock();
        let Some(table) = tables.step_logs.get(&execution) else { return Ok(Vec::new()) };
        let logs = table.logs.iter().filter(|log| page.admits(log));
        let limit = page.limit.min(LOG_READ_MAX);
        Ok(match page.order {
            LogOrder::OldestFirst => within_space(logs.take(limit)),
            LogOrder::NewestFirst => within_space(logs.rev().take(limit)),
        })
    }

    pub(crate) async fn log_sources(
        &self,
        execution: ExecutionId,
        commands: &[CommandId],
    ) -> Result<Vec<Held>, StoreError> {
        let tables = self.lock();
        let held = tables.step_logs.get(&execution).into_iter().flat_map(|it| it.progress.keys());
        Ok(held.filter(|held| commands.contains(&held.command)).copied().collect())
    }

    pub(crate) async fn forget_logs(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let old = tables.step_logs.iter().filter(|(_, table)| table.last_at < before);
        let mut old: Vec<_> = old.map(|(execution, table)| (table.last_at, *execution)).collect();
        old.sort_unstable();
        old.truncate(limit.min(PAGE_MAX));
        old.iter().for_each(|(_, execution)| drop(tables.step_logs.remove(execution)));
        Ok(old.len() as u64)
    }
}

fn within_space<'a>(logs: impl Iterator<Item = &'a StoredLog>) -> Vec<StoredLog> {
    let (mut page, mut space) = (Vec::new(), PageSpace::default());
    for log in logs {
        page.push(log.clone());
        if !space.take(log.text.len()) {
            break;
        }
    }
    page
}
