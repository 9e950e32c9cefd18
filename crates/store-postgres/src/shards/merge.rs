//! Queries about all executions: every shard is queried in parallel, and the answers are merged in
//! order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use noetl_model::{
    CommandId, Digest, ExecutionId, IndexKey, IndexKind, Pool, Priority, Summary, Timestamp,
    WorkerId,
};
use noetl_store::sql;
use noetl_store::{
    Clock, ExecutionFilter, Held, HeldAnswer, HistogramBar, HistogramSpan, IndexPage, IndexRow,
    LeasedCommand, OpenIndexPlace, PAGE_MAX, Page, ReadyCommand, ReadyCount, StoreError, TimerRow,
    merged_bars,
};

use super::Shards;

impl Shards {
    pub(crate) async fn ready(
        &self,
        pool: &Pool,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ReadyCommand>, StoreError> {
        let waiting =
            self.answering(|shard| sql::ready_in_rounds(shard, pool, after, limit)).await?;
        let mut ready = waiting.concat();
        ready.sort_by_key(|(round, row)| {
            let is_behind = after.is_some_and(|after| row.execution <= after);
            (Reverse(row.priority), *round, is_behind, row.execution)
        });
        ready.truncate(limit.min(PAGE_MAX));
        Ok(ready.into_iter().map(|(_, row)| row).collect())
    }

    pub(crate) async fn extend(
        &self,
        held: &[Held],
        lease: Duration,
    ) -> Result<Vec<HeldAnswer>, StoreError> {
        let parts: Vec<Vec<Held>> = (0..self.shards.len())
            .map(|index| {
                let here = held.iter().filter(|held| self.index_of(held.execution) == index);
                here.copied().collect()
            })
            .collect();
        let asked = self.shards.iter().zip(&parts).enumerate();
        let asked =
            asked.map(|(index, (shard, part))| self.ask(index, sql::extend(shard, part, lease)));
        let answers = futures::future::join_all(asked).await;
        let mut answers = answers
            .into_iter()
            .map(|part| part.map(Vec::into_iter))
            .collect::<Result<Vec<_>, StoreError>>()?;
        Ok(held
            .iter()
            .map(|held| {
                let part = &mut answers[self.index_of(held.execution)];
                part.next().expect("a shard answers for each lease")
            })
            .collect())
    }

    pub(crate) async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        Ok(self.all(|shard| sql::release(shard, worker)).await?.into_iter().sum())
    }

    pub(crate) async fn renew(
        &self,
        worker: &WorkerId,
        lease: Duration,
    ) -> Result<u64, StoreError> {
        Ok(self.all(|shard| sql::renew(shard, worker, lease)).await?.into_iter().sum())
    }

    pub(crate) async fn exhausted(
        &self,
        attempts: u32,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<Held>, StoreError> {
        let end = skip.saturating_add(limit.min(PAGE_MAX));
        let exhausted =
            self.answering(|shard| sql::exhausted_with_times(shard, attempts, 0, end)).await?;
        Ok(merged(exhausted, end).into_iter().skip(skip).collect())
    }

    pub(crate) async fn ready_pools(&self) -> Result<Vec<Pool>, StoreError> {
        let pools = self.answering(sql::ready_pools).await?;
        let pools: BTreeSet<Pool> = pools.into_iter().flatten().collect();
        Ok(pools.into_iter().take(PAGE_MAX).collect())
    }

    pub(crate) async fn waiting_executions(
        &self,
        pool: &Pool,
        count_max: u64,
    ) -> Result<u64, StoreError> {
        let counts =
            self.answering(|shard| sql::waiting_executions(shard, pool, count_max)).await?;
        Ok(counts.into_iter().sum::<u64>().min(count_max))
    }

    pub(crate) async fn oldest_ready(&self, pool: &Pool) -> Result<Option<Timestamp>, StoreError> {
        let oldest = self.answering(|shard| sql::oldest_ready(shard, pool)).await?;
        Ok(oldest.into_iter().flatten().min())
    }

    pub(crate) async fn leased(&self, limit: usize) -> Result<Vec<LeasedCommand>, StoreError> {
        let mut leased = self.answering(|shard| sql::leased(shard, limit)).await?.concat();
        leased.sort_by_key(|it| (Reverse(it.lease_until), it.execution, it.command));
        leased.truncate(limit.min(PAGE_MAX));
        Ok(leased)
    }

    pub(crate) async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError> {
        Ok(self.all(|shard| sql::ready_count(shard, pool)).await?.into_iter().sum())
    }

    pub(crate) async fn ready_by_priority(
        &self,
        pool: &Pool,
    ) -> Result<Vec<ReadyCount>, StoreError> {
        let counted = self.all(|shard| sql::ready_by_priority(shard, pool)).await?;
        let mut counts: BTreeMap<Priority, ReadyCount> = BTreeMap::new();
        for it in counted.into_iter().flatten() {
            let none = ReadyCount { priority: it.priority, count: 0, oldest: None };
            let sum = counts.entry(it.priority).or_insert(none);
            sum.count += it.count;
            sum.oldest = [sum.oldest, it.oldest].into_iter().flatten().min();
        }
        Ok(counts.into_values().collect())
    }

    /// Returns the clock of the cluster's own database. Leases are compared with the clock of their
    /// shard.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.cluster.clock()
    }

    pub(crate) async fn due(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<TimerRow>, StoreError> {
        let mut due = self.answering(|shard| sql::due(shard, now, limit)).await?.concat();
        due.sort_by_key(|row| (row.due_at, row.execution, row.timer));
        due.truncate(limit.min(PAGE_MAX));
        Ok(due)
    }

    pub(crate) async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.answering(sql::next_due).await?.into_iter().flatten().min())
    }

    /// Looks for a payload in every shard, because a digest does not name its execution.
    pub(crate) async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.any(|shard| sql::payload(shard, digest)).await
    }

    pub(crate) async fn list(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, StoreError> {
        Ok(page.of(self.all(|shard| sql::list(shard, filter, page)).await?))
    }

    pub(crate) async fn histogram(
        &self,
        filter: &ExecutionFilter,
        span: &HistogramSpan,
        count_max: u64,
    ) -> Result<Vec<HistogramBar>, StoreError> {
        let parts = self.all(|shard| sql::histogram(shard, filter, span, count_max)).await?;
        Ok(merged_bars(parts, count_max))
    }

    pub(crate) async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        let stalled = self.answering(|shard| sql::stalled_with_times(shard, before, limit)).await?;
        Ok(merged(stalled, limit))
    }

    pub(crate) async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError> {
        self.any(|shard| sql::child_of(shard, parent, command)).await
    }
}

impl Shards {
    pub(crate) async fn indexed(
        &self,
        kind: IndexKind,
        key: &IndexKey,
        page: IndexPage,
    ) -> Result<Vec<IndexRow>, StoreError> {
        Ok(page.of(self.all(|shard| sql::indexed(shard, kind, key, page)).await?))
    }

    pub(crate) async fn open_index(
        &self,
        kind: IndexKind,
        after: Option<&OpenIndexPlace>,
        limit: usize,
    ) -> Result<Vec<IndexRow>, StoreError> {
        let open = self.all(|shard| sql::open_index(shard, kind, after, limit)).await?;
        let mut open = open.concat();
        open.sort_by_cached_key(IndexRow::open_place);
        open.truncate(limit.min(PAGE_MAX));
        Ok(open)
    }
}

/// Merges several lists by time, up to `limit`.
fn merged<T>(lists: Vec<Vec<(Timestamp, T)>>, limit: usize) -> Vec<T> {
    let mut all: Vec<(Timestamp, T)> = lists.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    all.truncate(limit.min(PAGE_MAX));
    all.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_merge_by_time_up_to_the_limit() {
        let at = Timestamp::from_micros;
        let lists =
            vec![vec![(at(1), 'a'), (at(4), 'd')], vec![], vec![(at(2), 'b'), (at(3), 'c')]];
        assert_eq!(merged(lists.clone(), 3), ['a', 'b', 'c']);
        assert_eq!(merged(lists, usize::MAX), ['a', 'b', 'c', 'd']);
    }
}
