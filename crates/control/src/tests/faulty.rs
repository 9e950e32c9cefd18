//! A store that fails like a real one: before the write, or after it with the answer lost.

mod events;
mod schedules;

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use noetl_model::{CatalogId, CommandId, EventId, Summary, WorkerId};
use noetl_store::{
    Append, AppendError, Catalog, CatalogEntry, CommandQueue, EventLog, ExecutionFilter,
    Executions, Failure, Fate, Held, HeldAnswer, Layout, Letter, LetterPage, NewPlaybook, OpenRows,
    OpenWork, Outbox, OutboxRow, Page, Payloads, ReadyCommand, ReplayBound, ReplayMark,
    SavedReplay, SavedReplays, Sent, Snapshot, Snapshots, StoreError, StoreTime, Tables, Take,
    TimerRow, Timers,
};

use super::*;

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    BeforeWrite,
    AnswerLost,
    /// Another writer is always faster.
    Conflict,
    Panic,
}

/// A store that fails every `period`-th append.
pub(super) struct FaultyStore {
    store: Arc<MemoryStore>,
    fault: Fault,
    period: usize,
    appends: AtomicUsize,
}

impl FaultyStore {
    pub(super) fn new(store: Arc<MemoryStore>, fault: Fault, period: usize) -> Self {
        Self { store, fault, period, appends: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl EventLog for FaultyStore {
    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        let count = self.appends.fetch_add(1, Ordering::Relaxed) + 1;
        if !count.is_multiple_of(self.period) {
            return self.store.append(batch).await;
        }
        match self.fault {
            Fault::BeforeWrite => {}
            Fault::AnswerLost => {
                self.store.append(batch).await?;
            }
            Fault::Conflict => return Ok(vec![Err(AppendError::Conflict); batch.len()]),
            Fault::Panic => panic!("the store has a bug"),
        }
        Err(StoreError::Unavailable("connection reset".into()))
    }

    async fn read(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.store.read(execution, after, limit).await
    }

    async fn find(&self, event: EventId) -> Result<Option<(ExecutionId, Recorded)>, StoreError> {
        self.store.find(event).await
    }
}

#[async_trait]
impl CommandQueue for FaultyStore {
    async fn ready(
        &self,
        pool: &Pool,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ReadyCommand>, StoreError> {
        self.store.ready(pool, after, limit).await
    }

    async fn extend(&self, held: &[Held], lease: Duration) -> Result<Vec<HeldAnswer>, StoreError> {
        self.store.extend(held, lease).await
    }

    async fn renew(&self, worker: &WorkerId, lease: Duration) -> Result<u64, StoreError> {
        self.store.renew(worker, lease).await
    }

    async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        self.store.release(worker).await
    }

    async fn exhausted(&self, attempts: u32, limit: usize) -> Result<Vec<Held>, StoreError> {
        self.store.exhausted(attempts, limit).await
    }

    async fn ready_pools(&self) -> Result<Vec<Pool>, StoreError> {
        self.store.ready_pools().await
    }

    async fn waiting_executions(&self, pool: &Pool, count_max: u64) -> Result<u64, StoreError> {
        self.store.waiting_executions(pool, count_max).await
    }

    async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError> {
        self.store.ready_count(pool).await
    }
}

#[async_trait]
impl StoreTime for FaultyStore {
    fn clock(&self) -> Arc<dyn Clock> {
        self.store.clock()
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.store.time().await
    }
}

#[async_trait]
impl Timers for FaultyStore {
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<TimerRow>, StoreError> {
        self.store.due(now, limit).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.store.next_due().await
    }
}

#[async_trait]
impl Outbox for FaultyStore {
    async fn take(&self, take: Take) -> Result<Vec<OutboxRow>, StoreError> {
        self.store.take(take).await
    }

    async fn sent(&self, ids: &[i64]) -> Result<Sent, StoreError> {
        self.store.sent(ids).await
    }

    async fn failed(&self, failures: &[Failure]) -> Result<Vec<Fate>, StoreError> {
        self.store.failed(failures).await
    }

    async fn postpone(&self, ids: &[i64], delay: Duration) -> Result<(), StoreError> {
        self.store.postpone(ids, delay).await
    }

    async fn owed(&self) -> Result<u64, StoreError> {
        self.store.owed().await
    }

    async fn pending(&self) -> Result<u64, StoreError> {
        self.store.pending().await
    }

    async fn letters(&self, page: LetterPage) -> Result<Vec<Letter>, StoreError> {
        self.store.letters(page).await
    }

    async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError> {
        self.store.revive(ids).await
    }

    async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError> {
        self.store.discard(ids).await
    }
}

#[async_trait]
impl Payloads for FaultyStore {
    async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.payload(digest).await
    }
}

#[async_trait]
impl Catalog for FaultyStore {
    async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError> {
        self.store.register(playbook).await
    }

    async fn by_id(&self, catalog_id: CatalogId) -> Result<Option<CatalogEntry>, StoreError> {
        self.store.by_id(catalog_id).await
    }

    async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        self.store.by_path(path, version).await
    }

    async fn paths(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        self.store.paths(after, limit).await
    }
}

#[async_trait]
impl Snapshots for FaultyStore {
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.store.save(execution, snapshot).await
    }

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError> {
        self.store.latest(execution).await
    }
}

#[async_trait]
impl SavedReplays for FaultyStore {
    async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError> {
        self.store.save_replay(execution, projection, replay).await
    }

    async fn furthest_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        bound: ReplayBound,
    ) -> Result<Option<SavedReplay>, StoreError> {
        self.store.furthest_replay(execution, projection, bound).await
    }

    async fn saved_replays(&self, execution: ExecutionId) -> Result<Vec<ReplayMark>, StoreError> {
        self.store.saved_replays(execution).await
    }
}

#[async_trait]
impl OpenRows for FaultyStore {
    async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError> {
        self.store.open_work(execution).await
    }
}

#[async_trait]
impl Executions for FaultyStore {
    async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError> {
        self.store.summary(execution).await
    }

    async fn list(&self, filter: &ExecutionFilter, page: Page) -> Result<Vec<Summary>, StoreError> {
        self.store.list(filter, page).await
    }

    async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        self.store.stalled(before, limit).await
    }

    async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError> {
        self.store.child_of(parent, command).await
    }
}

#[async_trait]
impl Layout for FaultyStore {
    async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        self.store.count(status, max).await
    }

    async fn tables(&self) -> Result<Tables, StoreError> {
        self.store.tables().await
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        self.store.check_writable().await
    }
}
