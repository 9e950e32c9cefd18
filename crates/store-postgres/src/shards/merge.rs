//! What is about all executions: every shard is asked at the same time, and the answers are merged in
//! the order each of them has.

use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{CommandId, Digest, ExecutionId, Pool, Summary, Timestamp, WorkerId};
use noetl_store::{
    CommandQueue, ExecutionFilter, Executions, Held, HeldAnswer, Outbox, OutboxRow, PAGE_MAX, Page,
    Payloads, ReadyCommand, StoreError, TimerRow, Timers,
};

use super::Shards;
use crate::settings::SHARDS_MAX;

#[async_trait]
impl CommandQueue for Shards {
    async fn ready(&self, pool: &Pool, limit: usize) -> Result<Vec<ReadyCommand>, StoreError> {
        let waiting = self.all(|shard| shard.waiting(pool, limit)).await?;
        Ok(merged(waiting, limit))
    }

    async fn extend(&self, held: &[Held], lease: Duration) -> Result<Vec<HeldAnswer>, StoreError> {
        let parts: Vec<Vec<Held>> = (0..self.shards.len())
            .map(|index| {
                let here = held.iter().filter(|held| self.index_of(held.execution) == index);
                here.copied().collect()
            })
            .collect();
        let asked = self.shards.iter().zip(&parts).map(|(shard, part)| shard.extend(part, lease));
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

    async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        Ok(self.all(|shard| shard.release(worker)).await?.into_iter().sum())
    }

    async fn renew(&self, worker: &WorkerId, lease: Duration) -> Result<u64, StoreError> {
        Ok(self.all(|shard| shard.renew(worker, lease)).await?.into_iter().sum())
    }

    async fn exhausted(&self, attempts: u32, limit: usize) -> Result<Vec<Held>, StoreError> {
        let run_out = self.all(|shard| shard.run_out(attempts, limit)).await?;
        Ok(merged(run_out, limit))
    }

    async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError> {
        Ok(self.all(|shard| shard.ready_count(pool)).await?.into_iter().sum())
    }
}

#[async_trait]
impl Timers for Shards {
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<TimerRow>, StoreError> {
        let mut due = self.all(|shard| shard.due(now, limit)).await?.concat();
        due.sort_by_key(|row| (row.due_at, row.execution, row.timer));
        due.truncate(limit.min(PAGE_MAX));
        Ok(due)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.all(|shard| shard.next_due()).await?.into_iter().flatten().min())
    }
}

#[async_trait]
impl Outbox for Shards {
    /// Takes from one shard after the other, so that no more is taken than is given out; each call
    /// begins with another one.
    async fn take(&self, limit: usize, visibility: Duration) -> Result<Vec<OutboxRow>, StoreError> {
        let limit = limit.min(PAGE_MAX);
        let first = self.first_to_send.fetch_add(1, Ordering::Relaxed);
        let mut taken = Vec::new();
        for step in 0..self.shards.len() {
            let index = first.wrapping_add(step) % self.shards.len();
            let wanted = limit - taken.len();
            if wanted == 0 {
                break;
            }
            let rows = self.shards[index].take(wanted, visibility).await?;
            taken.extend(
                rows.into_iter().map(|row| OutboxRow { id: public_id(row.id, index), ..row }),
            );
        }
        Ok(taken)
    }

    async fn sent(&self, ids: &[i64]) -> Result<(), StoreError> {
        let parts: Vec<Vec<i64>> = (0..self.shards.len())
            .map(|index| {
                let ids = ids.iter().map(|id| shard_and_id(*id));
                ids.filter(|(shard, _)| *shard == index).map(|(_, id)| id).collect()
            })
            .collect();
        let asked = self.shards.iter().zip(&parts).map(|(shard, part)| shard.sent(part));
        futures::future::join_all(asked).await.into_iter().collect()
    }

    async fn owed(&self) -> Result<u64, StoreError> {
        Ok(self.all(|shard| shard.owed()).await?.into_iter().sum())
    }
}

#[async_trait]
impl Payloads for Shards {
    /// A value is where the execution is that stored it, and nobody asks with its name.
    async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.all(|shard| shard.payload(digest)).await?.into_iter().flatten().next())
    }
}

#[async_trait]
impl Executions for Shards {
    async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError> {
        self.shard(execution).summary(execution).await
    }

    async fn list(&self, filter: &ExecutionFilter, page: Page) -> Result<Vec<Summary>, StoreError> {
        let mut listed = self.all(|shard| shard.list(filter, page)).await?.concat();
        listed.sort_by_key(|summary| std::cmp::Reverse(summary.execution));
        listed.truncate(page.limit.min(PAGE_MAX));
        Ok(listed)
    }

    async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        let silent = self.all(|shard| shard.silent(before, limit)).await?;
        Ok(merged(silent, limit))
    }

    async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError> {
        let children = self.all(|shard| shard.child_of(parent, command)).await?;
        Ok(children.into_iter().flatten().next())
    }
}

/// The earliest of several lists, each in the order of its times.
fn merged<T>(lists: Vec<Vec<(Timestamp, T)>>, limit: usize) -> Vec<T> {
    let mut all: Vec<(Timestamp, T)> = lists.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    all.truncate(limit.min(PAGE_MAX));
    all.into_iter().map(|(_, row)| row).collect()
}

/// A message's identity towards others: shards count on their own, so the shard is part of it.
fn public_id(id: i64, shard: usize) -> i64 {
    id * shards_max() + i64::try_from(shard).expect("an index of a shard fits")
}

fn shard_and_id(public_id: i64) -> (usize, i64) {
    let shard = public_id.rem_euclid(shards_max());
    (usize::try_from(shard).expect("a remainder fits"), public_id.div_euclid(shards_max()))
}

fn shards_max() -> i64 {
    i64::try_from(SHARDS_MAX).expect("the bound on shards fits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_messages_identity_tells_its_shard() {
        for (id, shard) in [(1, 0), (1, 1), (7, SHARDS_MAX - 1), (i64::MAX / 1024 - 1, 3)] {
            assert_eq!(shard_and_id(public_id(id, shard)), (shard, id));
        }
    }

    #[test]
    fn lists_merge_by_time_up_to_the_limit() {
        let at = Timestamp::from_micros;
        let lists =
            vec![vec![(at(1), 'a'), (at(4), 'd')], vec![], vec![(at(2), 'b'), (at(3), 'c')]];
        assert_eq!(merged(lists.clone(), 3), ['a', 'b', 'c']);
        assert_eq!(merged(lists, usize::MAX), ['a', 'b', 'c', 'd']);
    }
}
