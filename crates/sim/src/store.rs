//! One server's connection to the store, which fails like a real one: before the write, after it
//! with the answer lost, with the write still in flight, or after its deadline.
//!
//! Invariant: once its server is dead, no request is ever answered, so the server's work stops
//! there.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use noetl_engine::grant_slots;
use noetl_model::{ExecutionId, GrantRule, LimitAmount, LimitDecision, LimitState, Timestamp};
use noetl_store::{
    Access, Append, AppendError, Clock, ClockReading, EventLog as _, LimitChange, LimitChanges,
    LimitOutcome, MemoryStore, PauseRow, Pauses as _, RemoteClock, SentSignals as _, SignalTarget,
    SlotLimits as _, Snapshot, StoreError, WorkQueue as _, Wrapper,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::faults::{FaultPlan, PlantedBug};
use crate::ledger::Ledger;

/// The duration of a call that reaches its deadline.
const DEADLINE: Duration = Duration::from_secs(5);
/// The delay of each message once there were too many ([`FaultPlan::spins`]), so that the time
/// limit of the world is reached.
const SPIN_PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Connection {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) faults: Arc<FaultPlan>,
    pub(crate) dead: CancellationToken,
    pub(crate) ledger: Arc<Ledger>,
    /// The server's estimate of the store's clock.
    pub(crate) clock: Arc<RemoteClock>,
}

impl Connection {
    /// Simulates the network delay to the store, or back.
    async fn travel(&self) {
        if self.faults.spins() {
            tokio::time::sleep(SPIN_PAUSE).await;
        } else if self.faults.strikes(self.faults.rates.slow) {
            tokio::time::sleep(self.faults.millis(1..3000)).await;
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
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.travel().await;
        if self.faults.strikes(self.faults.rates.read_lost) {
            return Err(unavailable());
        }
        if self.faults.strikes(self.faults.rates.deadline) {
            return Err(self.out_of_time().await);
        }
        let answer = answer.await;
        self.travel().await;
        answer
    }

    /// Sends a write other than an append, whose answer may be lost after it was done.
    async fn change<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let answer = self.ask(answer).await;
        if self.faults.strikes(self.faults.rates.answer_lost) {
            return Err(unavailable());
        }
        if self.faults.strikes(self.faults.rates.deadline) {
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
            if self.faults.strikes(self.faults.rates.conflict) {
                outcomes.push(Err(AppendError::Conflict));
            } else if self.faults.has(PlantedBug::LostAppend) && self.faults.chance(2) {
                outcomes.push(Ok(()));
            } else {
                let mut append = append.clone();
                if self.faults.has(PlantedBug::LostMessages) && self.faults.chance(5) {
                    append.outbox.clear();
                }
                let alone = std::slice::from_ref(&append);
                let outcome = self.store.append(alone).await?;
                self.ledger.pages().written(alone, &outcome);
                outcomes.extend(outcome);
            }
        }
        Ok(outcomes)
    }

    /// Adds a time that came with an answer to the estimate of the clock.
    fn observe(&self, at: Timestamp, asked: Instant) {
        self.clock.observe(ClockReading { at, asked, answered: Instant::now() });
    }

    fn write_late(&self, batch: &[Append]) {
        let (store, ledger) = (Arc::clone(&self.store), Arc::clone(&self.ledger));
        let batch = batch.to_vec();
        let delay = self.faults.millis(1..5000);
        drop(tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            // The writer was told that the write failed, and never learns the outcome.
            if let Ok(outcomes) = store.append(&batch).await {
                ledger.pages().written(&batch, &outcomes);
            }
        }));
    }
}

/// The rule of limits with one slot more.
fn one_too_many(state: &LimitState) -> LimitDecision {
    let amount = match state.amount {
        LimitAmount::Slots { max } => LimitAmount::Slots { max: max + 1 },
        amount @ LimitAmount::Rate { .. } => amount,
    };
    grant_slots(&LimitState { amount, ..state.clone() })
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("the connection was lost".into())
}

impl Wrapper for Connection {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.store
    }

    async fn call<T: Send>(
        &self,
        access: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match access {
            Access::Read => self.ask(answer).await,
            Access::Write | Access::Maintenance => self.change(answer).await,
        }
    }

    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        let asked = Instant::now();
        self.travel().await;
        let rates = self.faults.rates;
        if self.faults.strikes(rates.write_lost) {
            return Err(unavailable());
        }
        if self.faults.strikes(rates.write_late) {
            self.write_late(batch);
            return Err(unavailable());
        }
        if self.faults.strikes(rates.deadline) {
            if self.faults.chance(50) {
                self.write_late(batch);
            }
            return Err(self.out_of_time().await);
        }
        let outcomes = self.write(batch).await;
        let now = self.store.time().await?;
        self.travel().await;
        if self.faults.strikes(rates.answer_lost) {
            return Err(unavailable());
        }
        self.observe(now, asked);
        outcomes
    }

    async fn change_limit(
        &self,
        changes: &LimitChanges,
        rule: GrantRule,
    ) -> Result<LimitOutcome, StoreError> {
        let requests = changes.requests().iter().cloned().map(LimitChange::Request);
        let releases = changes.releases().iter().cloned().map(LimitChange::Release);
        let written: Vec<LimitChange> = match self.faults.planted {
            Some(PlantedBug::LostRequest) => releases.collect(),
            Some(PlantedBug::LostRelease) => requests.collect(),
            _ => requests.chain(releases).collect(),
        };
        let limit = changes.limit();
        let changes = LimitChanges::grouped(written).pop();
        let changes = changes.unwrap_or_else(|| LimitChanges::none(limit.clone()));
        let rule = if self.faults.has(PlantedBug::OneTooMany) { one_too_many } else { rule };
        let answer = async {
            let outcome = self.store.change_limit(&changes, rule).await?;
            let granted = outcome.granted.iter().map(|key| (Instant::now(), key.limit.clone()));
            self.ledger.pages().grants.extend(granted);
            Ok(outcome)
        };
        self.change(answer).await
    }

    async fn pauses(
        &self,
        after: Option<&PauseRow>,
        limit: usize,
    ) -> Result<Vec<PauseRow>, StoreError> {
        let pauses = self.ask(self.store.pauses(after, limit)).await?;
        Ok(if self.faults.has(PlantedBug::PauseIgnored) { Vec::new() } else { pauses })
    }

    async fn assign_signal(&self, id: i64, target: SignalTarget) -> Result<bool, StoreError> {
        let answer = async {
            let is_assigned = self.store.assign_signal(id, target).await?;
            let stored = self.store.find_signal(id).await?;
            let order = stored.and_then(|it| it.signal.body["order"].as_u64());
            self.ledger.pages().assigned.extend(order.filter(|_| is_assigned));
            Ok(is_assigned)
        };
        self.change(answer).await
    }

    async fn settle_signal(
        &self,
        id: i64,
        target: SignalTarget,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        if self.faults.has(PlantedBug::SignalTwice) {
            return self.change(self.store.release_signal(id, target)).await;
        }
        self.change(self.store.settle_signal(id, target, expires_at)).await
    }

    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.ledger.pages().snapshots.push((execution, snapshot.clone()));
        self.change(self.store.save(execution, snapshot)).await
    }

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
