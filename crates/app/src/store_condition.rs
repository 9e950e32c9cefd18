//! State of the store for health checks and metrics: reachable, writable, and its backlog. No
//! caller waits longer than a health check may take.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use noetl_api::wire::LimitList;
use noetl_model::{IndexKind, Pool, Priority};
use noetl_store::{ConnectionFigures, IndexRow, PAGE_MAX, Store, StoreError, Tables};
use tokio::time::timeout;

use crate::app::App;
use crate::refreshed::{Refreshed, RefreshedValue};

/// Maximum time a health check waits for the store; the whole request stays below a second.
const HEALTH_WAIT_MAX: Duration = Duration::from_millis(800);
/// Maximum time a metrics request waits for the store.
const BACKLOG_WAIT_MAX: Duration = Duration::from_millis(500);
/// Interval of write checks while the store is writable.
const WRITE_CHECK_EVERY: Duration = Duration::from_secs(10);
/// Interval of write checks while the store is not writable.
const WRITE_RECHECK_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of pools whose last backlog is kept.
const POOLS_MAX: usize = 64;

/// Maximum number of waits of one kind that are counted.
pub const OPEN_WAITS_MAX: usize = 10_000;
/// Interval of counts of waits.
const OPEN_WAITS_EVERY: Duration = Duration::from_secs(10);

/// The last known state of the store.
#[derive(Debug, Default)]
pub(crate) struct StoreCondition {
    writable: Arc<Refreshed<Result<(), String>>>,
    backlogs: Mutex<BTreeMap<Pool, Arc<Refreshed<MessageBacklog>>>>,
    limits: Arc<Refreshed<LimitList>>,
    pools: Arc<Refreshed<Vec<PoolBacklog>>>,
    waits: Arc<Refreshed<OpenWaits>>,
}

/// The commands of a pool that wait for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolBacklog {
    pub pool: Pool,
    pub ready: u64,
    /// The time for which the oldest of them has been ready.
    pub oldest: Duration,
    pub by_priority: Vec<PriorityBacklog>,
}

/// The commands of a pool with one priority that wait for a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorityBacklog {
    pub priority: Priority,
    pub ready: u64,
    /// The time for which the oldest of them has been ready.
    pub oldest: Duration,
}

/// The numbers of steps that wait for something outside, each counted up to [`OPEN_WAITS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenWaits {
    pub approvals: usize,
    pub signals: usize,
}

/// Number of waiting commands and pending messages in the store.
#[derive(Debug, Clone, Copy)]
pub struct MessageBacklog {
    /// Ready commands of one pool.
    pub ready: u64,
    /// The time for which the oldest of them has been ready; zero if there is none.
    pub oldest: Duration,
    /// Pending messages in the outbox.
    pub owed: u64,
}

impl StoreCondition {
    /// Checks that the store answers; the error is safe to show to clients.
    pub(crate) async fn answers(&self, store: &dyn Store) -> Result<(), String> {
        let asked = timeout(HEALTH_WAIT_MAX, store.ready_count(&Pool::shared())).await;
        let error = match asked {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error,
            Err(_) => StoreError::TimedOut { deadline: HEALTH_WAIT_MAX },
        };
        tracing::warn!(error = &error as &dyn std::error::Error, "store does not answer");
        Err(error.to_string())
    }

    /// Checks that the store can be written, by a write within the last seconds; the error is safe
    /// to show to clients.
    pub(crate) async fn is_writable(&self, store: &Arc<dyn Store>) -> Result<(), String> {
        let is_fine = store.write_fault().is_none() && self.writable.last_is(Result::is_ok);
        let every = if is_fine { WRITE_CHECK_EVERY } else { WRITE_RECHECK_EVERY };
        let asked = Arc::clone(store);
        let check = async move {
            let error = match asked.check_writable().await {
                Ok(()) => return Some(Ok(())),
                Err(error) => error,
            };
            tracing::warn!(error = &error as &dyn std::error::Error, "store cannot be written");
            match error {
                StoreError::Unwritable { .. } => Some(Err(error.to_string())),
                // A store that does not answer is reported by another check.
                StoreError::Unavailable(_)
                | StoreError::TimedOut { .. }
                | StoreError::OutOfReach { .. }
                | StoreError::Corrupt { .. } => None,
            }
        };
        let known = self.writable.get(every, HEALTH_WAIT_MAX, check).await;
        match (known, store.write_fault()) {
            (Some(RefreshedValue { value: Err(cause), .. }), _) | (_, Some(cause)) => Err(cause),
            (Some(RefreshedValue { value: Ok(()), .. }) | None, None) => Ok(()),
        }
    }

    /// Returns the backlog of a pool: the current one if the store answers in time, else the last
    /// known one.
    pub(crate) async fn backlog(
        &self,
        store: &Arc<dyn Store>,
        pool: &Pool,
    ) -> Option<RefreshedValue<MessageBacklog>> {
        let asked = (Arc::clone(store), pool.clone());
        let look = async move {
            let (store, pool) = asked;
            let (ready, oldest, owed) =
                tokio::join!(store.ready_count(&pool), store.oldest_ready(&pool), store.owed());
            let now = store.clock().now();
            let oldest = oldest.ok()?.map(|since| now.since(since)).unwrap_or_default();
            Some(MessageBacklog { ready: ready.ok()?, oldest, owed: owed.ok()? })
        };
        self.kept(pool).get(Duration::ZERO, BACKLOG_WAIT_MAX, look).await
    }

    fn kept(&self, pool: &Pool) -> Arc<Refreshed<MessageBacklog>> {
        let mut backlogs = self.backlogs.lock().unwrap_or_else(PoisonError::into_inner);
        if backlogs.len() >= POOLS_MAX && !backlogs.contains_key(pool) {
            backlogs.pop_first();
        }
        Arc::clone(backlogs.entry(pool.clone()).or_default())
    }
}

impl App {
    /// Checks that the store answers; the error is safe to show to clients.
    pub async fn store_answers(&self) -> Result<(), String> {
        self.condition().answers(self.store()).await
    }

    /// Checks that the store can be written, by a write within the last seconds; the error is safe
    /// to show to clients.
    pub async fn store_is_writable(&self) -> Result<(), String> {
        self.condition().is_writable(self.shared_store()).await
    }

    /// Returns the backlog of a pool, and its age: the current one if the store answers in time,
    /// else the last known one.
    pub async fn backlog(&self, pool: &Pool) -> Option<(MessageBacklog, Duration)> {
        let known = self.condition().backlog(self.shared_store(), pool).await?;
        Some((known.value, known.at.elapsed()))
    }

    /// Returns the backlogs of the first pools with ready commands, by name: the current ones if the store
    /// answers in time, else the last known ones.
    pub async fn pool_backlogs(&self) -> Option<Vec<PoolBacklog>> {
        let app = self.clone();
        let look = async move { app.counted_pools().await.ok() };
        let known = self.condition().pools.get(Duration::ZERO, BACKLOG_WAIT_MAX, look).await?;
        Some(known.value)
    }

    async fn counted_pools(&self) -> Result<Vec<PoolBacklog>, StoreError> {
        let store = self.shared_store();
        let pools = store.ready_pools().await?.into_iter();
        let pools = pools.filter(|pool| pool.as_str() != Pool::CONTROL).take(POOLS_MAX);
        let mut counted = Vec::new();
        for pool in pools {
            let counts = store.ready_by_priority(&pool).await?;
            let now = store.clock().now();
            let by_priority = counts.into_iter().map(|it| PriorityBacklog {
                priority: it.priority,
                ready: it.count,
                oldest: it.oldest.map(|since| now.since(since)).unwrap_or_default(),
            });
            let by_priority: Vec<PriorityBacklog> = by_priority.collect();
            let ready = by_priority.iter().map(|it| it.ready).sum();
            let oldest = by_priority.iter().map(|it| it.oldest).max().unwrap_or_default();
            counted.push(PoolBacklog { pool, ready, oldest, by_priority });
        }
        Ok(counted)
    }

    /// Returns the numbers of approvals and signals that steps wait for, as last counted.
    pub async fn open_waits(&self) -> Option<OpenWaits> {
        let app = self.clone();
        let look = async move {
            let approvals = app.counted_waits(IndexKind::Approval).await.ok()?;
            Some(OpenWaits { approvals, signals: app.counted_waits(IndexKind::Signal).await.ok()? })
        };
        let known = self.condition().waits.get(OPEN_WAITS_EVERY, BACKLOG_WAIT_MAX, look).await?;
        Some(known.value)
    }

    async fn counted_waits(&self, kind: IndexKind) -> Result<usize, StoreError> {
        let (mut count, mut after) = (0, None);
        while count < OPEN_WAITS_MAX {
            let rows = self.store().open_index(kind, after.as_ref(), PAGE_MAX).await?;
            count += rows.len();
            after = rows.last().and_then(IndexRow::open_place);
            if rows.len() < PAGE_MAX || after.is_none() {
                break;
            }
        }
        Ok(count.min(OPEN_WAITS_MAX))
    }

    /// Returns the first limits by name: the current ones if the store answers in time, else the last
    /// known ones.
    pub async fn limit_figures(&self) -> Option<LimitList> {
        let app = self.clone();
        let look = async move { app.limit_list(None).await.ok() };
        let known = self.condition().limits.get(Duration::ZERO, BACKLOG_WAIT_MAX, look).await?;
        Some(known.value)
    }

    /// Returns the usage of the store's connection pool; `None` for a store without connections.
    pub fn store_connections(&self) -> Option<ConnectionFigures> {
        self.store().connections()
    }

    /// Returns the number of shards of the store.
    pub fn store_shards(&self) -> usize {
        self.store().shards()
    }

    /// Lists the tables of the store, existing and missing.
    pub async fn store_tables(&self) -> Result<Tables, StoreError> {
        self.store().tables().await
    }
}
