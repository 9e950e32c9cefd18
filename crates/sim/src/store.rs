//! One server's connection to the store, which fails like a real one: before the write, after it
//! with the answer lost, with the write still in flight, or after its deadline.
//!
//! Invariant: once its server is dead, no request is ever answered, so the server's work stops
//! there.

mod events;
mod schedules;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{
    CatalogId, CommandId, Digest, EventId, ExecutionId, ExecutionStatus, Pool, Recorded, Seq,
    Summary, Timestamp, WorkerId,
};
use noetl_store::{
    Append, AppendError, Catalog, CatalogEntry, Clock, CommandQueue, EventLog, ExecutionFilter,
    Executions, Failure, Fate, Held, HeldAnswer, Layout, Letter, LetterPage, MemoryStore,
    NewPlaybook, OpenRows, OpenWork, Outbox, OutboxRow, Page, Payloads, Reading, ReadyCommand,
    RemoteClock, ReplayBound, ReplayMark, SavedReplay, SavedReplays, Sent, Snapshot, Snapshots,
    StoreError, StoreTime, Tables, Take, TimerRow, Timers,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ledger::Ledger;
use crate::storm::Storm;

/// The duration of a call that reaches its deadline.
const DEADLINE: Duration = Duration::from_secs(5);
/// The delay of each message in a world that spins, so that its time runs out.
const SPIN_PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Connection {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) storm: Arc<Storm>,
    pub(crate) dead: CancellationToken,
    pub(crate) ledger: Arc<Ledger>,
    /// The server's estimate of the store's clock.
    pub(crate) clock: Arc<RemoteClock>,
}

impl Connection {
    /// Simulates the network delay to the store, or back.
    async fn travel(&self) {
        if self.storm.spins() {
            tokio::time::sleep(SPIN_PAUSE).await;
        } else if self.storm.strikes(self.storm.rates.slow) {
            tokio::time::sleep(self.storm.millis(1..3000)).await;
        } else {
            tokio::task::yield_now().await;
        }
        if self.dead.is_cancelled() {
            pending::<()>().await;
        }
    }

    /// Sends a read: it is answered, fails, or reaches its deadline.
    async fn ask<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.travel().await;
        if self.storm.strikes(self.storm.rates.read_lost) {
            return Err(unavailable());
        }
        if self.storm.strikes(self.storm.rates.deadline) {
            return Err(self.out_of_time().await);
        }
        let answer = answer.await;
        self.travel().await;
        answer
    }

    /// Sends a write other than an append, whose answer may be lost after it was done.
    async fn change<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = self.ask(answer).await;
        if self.storm.strikes(self.storm.rates.answer_lost) {
            return Err(unavailable());
        }
        if self.storm.strikes(self.storm.rates.deadline) {
            return Err(self.out_of_time().await);
        }
        answer
    }

    /// Waits for the deadline and returns the error of the call.
    async fn out_of_time(&self) -> StoreError {
        tokio::time::sleep(DEADLINE).await;
        self.travel().await;
        StoreError::Unavailable(format!("no answer in {DEADLINE:?}").into())
    }

    /// Writes a batch, with random conflicts.
    async fn write(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        let mut outcomes = Vec::with_capacity(batch.len());
        for append in batch {
            if self.storm.strikes(self.storm.rates.conflict) {
                outcomes.push(Err(AppendError::Conflict));
            } else {
                let alone = std::slice::from_ref(append);
                let outcome = self.store.append(alone).await?;
                self.ledger.pages().written(alone, &outcome);
                outcomes.extend(outcome);
            }
        }
        Ok(outcomes)
    }

    /// Adds a time that came with an answer to the estimate of the clock.
    fn observe(&self, at: Timestamp, asked: Instant) {
        self.clock.observe(Reading { at, asked, answered: Instant::now() });
    }

    fn write_late(&self, batch: &[Append]) {
        let (store, ledger) = (Arc::clone(&self.store), Arc::clone(&self.ledger));
        let batch = batch.to_vec();
        let delay = self.storm.millis(1..5000);
        drop(tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            // The writer was told that the write failed, and never learns the outcome.
            if let Ok(outcomes) = store.append(&batch).await {
                ledger.pages().written(&batch, &outcomes);
            }
        }));
    }
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("the connection was lost".into())
}

#[async_trait]
impl EventLog for Connection {
    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        let asked = Instant::now();
        self.travel().await;
        let rates = self.storm.rates;
        if self.storm.strikes(rates.write_lost) {
            return Err(unavailable());
        }
        if self.storm.strikes(rates.write_late) {
            self.write_late(batch);
            return Err(unavailable());
        }
        if self.storm.strikes(rates.deadline) {
            if self.storm.chance(50) {
                self.write_late(batch);
            }
            return Err(self.out_of_time().await);
        }
        let outcomes = self.write(batch).await;
        let now = self.store.time().await?;
        self.travel().await;
        if self.storm.strikes(rates.answer_lost) {
            return Err(unavailable());
        }
        self.observe(now, asked);
        outcomes
    }

    async fn read(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.ask(self.store.read(execution, after, limit)).await
    }

    async fn find(&self, event: EventId) -> Result<Option<(ExecutionId, Recorded)>, StoreError> {
        self.ask(self.store.find(event)).await
    }
}

#[async_trait]
impl CommandQueue for Connection {
    async fn ready(
        &self,
        pool: &Pool,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ReadyCommand>, StoreError> {
        self.ask(self.store.ready(pool, after, limit)).await
    }

    async fn extend(&self, held: &[Held], lease: Duration) -> Result<Vec<HeldAnswer>, StoreError> {
        self.change(self.store.extend(held, lease)).await
    }

    async fn renew(&self, worker: &WorkerId, lease: Duration) -> Result<u64, StoreError> {
        self.change(self.store.renew(worker, lease)).await
    }

    async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        self.change(self.store.release(worker)).await
    }

    async fn exhausted(&self, attempts: u32, limit: usize) -> Result<Vec<Held>, StoreError> {
        self.ask(self.store.exhausted(attempts, limit)).await
    }

    async fn ready_pools(&self) -> Result<Vec<Pool>, StoreError> {
        self.ask(self.store.ready_pools()).await
    }

    async fn waiting_executions(&self, pool: &Pool, count_max: u64) -> Result<u64, StoreError> {
        self.ask(self.store.waiting_executions(pool, count_max)).await
    }

    async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError> {
        self.ask(self.store.ready_count(pool)).await
    }
}

#[async_trait]
impl StoreTime for Connection {
    fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        let asked = Instant::now();
        let now = self.ask(self.store.time()).await?;
        self.observe(now, asked);
        Ok(now)
    }
}

#[async_trait]
impl Timers for Connection {
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<TimerRow>, StoreError> {
        self.ask(self.store.due(now, limit)).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.ask(self.store.next_due()).await
    }
}

#[async_trait]
impl Outbox for Connection {
    async fn take(&self, take: Take) -> Result<Vec<OutboxRow>, StoreError> {
        self.change(self.store.take(take)).await
    }

    async fn sent(&self, ids: &[i64]) -> Result<Sent, StoreError> {
        self.change(self.store.sent(ids)).await
    }

    async fn failed(&self, failures: &[Failure]) -> Result<Vec<Fate>, StoreError> {
        self.change(self.store.failed(failures)).await
    }

    async fn postpone(&self, ids: &[i64], delay: Duration) -> Result<(), StoreError> {
        self.change(self.store.postpone(ids, delay)).await
    }

    async fn owed(&self) -> Result<u64, StoreError> {
        self.ask(self.store.owed()).await
    }

    async fn pending(&self) -> Result<u64, StoreError> {
        self.ask(self.store.pending()).await
    }

    async fn letters(&self, page: LetterPage) -> Result<Vec<Letter>, StoreError> {
        self.ask(self.store.letters(page)).await
    }

    async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError> {
        self.change(self.store.revive(ids)).await
    }

    async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError> {
        self.change(self.store.discard(ids)).await
    }
}

#[async_trait]
impl Payloads for Connection {
    async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.ask(self.store.payload(digest)).await
    }
}

#[async_trait]
impl Catalog for Connection {
    async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError> {
        self.change(self.store.register(playbook)).await
    }

    async fn by_id(&self, catalog_id: CatalogId) -> Result<Option<CatalogEntry>, StoreError> {
        self.ask(self.store.by_id(catalog_id)).await
    }

    async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        self.ask(self.store.by_path(path, version)).await
    }

    async fn paths(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        self.ask(self.store.paths(after, limit)).await
    }
}

#[async_trait]
impl Snapshots for Connection {
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.ledger.pages().snapshots.push((execution, snapshot.clone()));
        self.change(self.store.save(execution, snapshot)).await
    }

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError> {
        self.ask(self.store.latest(execution)).await
    }
}

#[async_trait]
impl SavedReplays for Connection {
    async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError> {
        self.change(self.store.save_replay(execution, projection, replay)).await
    }

    async fn furthest_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        bound: ReplayBound,
    ) -> Result<Option<SavedReplay>, StoreError> {
        self.ask(self.store.furthest_replay(execution, projection, bound)).await
    }

    async fn saved_replays(&self, execution: ExecutionId) -> Result<Vec<ReplayMark>, StoreError> {
        self.ask(self.store.saved_replays(execution)).await
    }
}

#[async_trait]
impl OpenRows for Connection {
    async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError> {
        self.ask(self.store.open_work(execution)).await
    }
}

#[async_trait]
impl Executions for Connection {
    async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError> {
        self.ask(self.store.summary(execution)).await
    }

    async fn list(&self, filter: &ExecutionFilter, page: Page) -> Result<Vec<Summary>, StoreError> {
        self.ask(self.store.list(filter, page)).await
    }

    async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        self.ask(self.store.stalled(before, limit)).await
    }

    async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError> {
        self.ask(self.store.child_of(parent, command)).await
    }
}

#[async_trait]
impl Layout for Connection {
    async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        self.ask(self.store.count(status, max)).await
    }

    async fn tables(&self) -> Result<Tables, StoreError> {
        self.ask(self.store.tables()).await
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        self.change(self.store.check_writable()).await
    }
}
