//! Admission control: new executions are refused while too many wait in their pool.
//!
//! Starting executions must not take the capacity for finishing them. The backlog of a pool is the
//! number of executions with a command that no worker has claimed. It is counted in the store
//! periodically, never for a single start; in between, starts for which no worker was free are
//! added.
//!
//! Starts by the control plane itself (children, schedules, messages of subscriptions) have twice
//! the limit: they are postponed and retried, and requests must not take their place.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lru::LruCache;
use noetl_model::Pool;
use tokio::time::Instant;

use crate::{Control, StartError};

/// The largest number of pools in the cache.
const POOLS_MAX: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");
/// The age from which a count is refreshed.
const COUNT_EVERY: Duration = Duration::from_millis(250);
/// The time after which a refused client should retry.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The backlog limit that applies to a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A request from outside: refused while the backlog is full.
    Request,
    /// A start by the control plane itself, which retries later.
    Internal,
    /// Already admitted as part of a batch.
    Granted,
}

/// The backlog of a pool has reached its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BacklogFull {
    pub pool: Pool,
    /// The number of waiting executions, as last counted.
    pub waiting: u64,
    pub limit: u64,
    pub retry_after: Duration,
}

/// The backlogs of the pools in use.
#[derive(Debug)]
pub(crate) struct Backlogs {
    /// The limit; `None` if there is none.
    limit: Option<u64>,
    pools: Mutex<LruCache<Pool, ExecutionBacklog>>,
    /// Held by the start that counts, so that others wait for its count.
    count: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy)]
struct ExecutionBacklog {
    counted: u64,
    /// Executions that began to wait since the last count.
    added: u64,
    /// The time of the next count.
    due_at: Instant,
}

impl Backlogs {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            pools: Mutex::new(LruCache::sparse(POOLS_MAX)),
            count: tokio::sync::Mutex::default(),
        }
    }

    fn pools(&self) -> MutexGuard<'_, LruCache<Pool, ExecutionBacklog>> {
        self.pools.lock().expect("nothing panics while it holds the backlogs")
    }

    /// Returns how many executions wait in a pool, and whether the count is out of date.
    fn look(&self, pool: &Pool, now: Instant) -> (u64, bool) {
        let mut pools = self.pools();
        let fresh = || ExecutionBacklog { counted: 0, added: 0, due_at: now };
        let backlog = pools.get_or_insert_mut_ref(pool, fresh);
        (backlog.counted.saturating_add(backlog.added), backlog.due_at <= now)
    }

    /// Marks a count as being made, so that it is made once.
    fn counting(&self, pool: &Pool, now: Instant) {
        if let Some(backlog) = self.pools().get_mut(pool) {
            backlog.due_at = now + COUNT_EVERY;
        }
    }

    fn counted(&self, pool: &Pool, counted: u64) {
        if let Some(backlog) = self.pools().get_mut(pool) {
            *backlog = ExecutionBacklog { counted, added: 0, due_at: Instant::now() + COUNT_EVERY };
        }
    }

    /// Counts an execution that was started while no worker was free.
    pub(crate) fn added(&self, pool: &Pool) {
        if let Some(backlog) = self.pools().get_mut(pool) {
            backlog.added = backlog.added.saturating_add(1);
        }
    }
}

impl Control {
    /// Refuses a start in a pool while too many executions wait there. A start is refused only on
    /// a recent count.
    pub async fn admit(&self, pool: &Pool, admission: Admission) -> Result<(), StartError> {
        let Some(limit) = self.parts.backlogs.limit else { return Ok(()) };
        let limit = match admission {
            Admission::Granted => return Ok(()),
            Admission::Request => limit,
            Admission::Internal => limit.saturating_mul(2),
        };
        let now = Instant::now();
        let (mut waiting, is_due) = self.parts.backlogs.look(pool, now);
        if is_due && waiting < limit {
            self.parts.backlogs.counting(pool, now);
            let (control, pool) = (self.clone(), pool.clone());
            self.parts.tasks.spawn(async move { control.count_backlog(&pool).await });
        } else if is_due {
            waiting = self.recent_backlog(pool).await;
        }
        if waiting < limit {
            return Ok(());
        }
        let pool = pool.clone();
        Err(StartError::BacklogFull(BacklogFull { pool, waiting, limit, retry_after: RETRY_AFTER }))
    }

    /// Counts the backlog of a pool, unless another start has just done so.
    async fn recent_backlog(&self, pool: &Pool) -> u64 {
        let _counting = self.parts.backlogs.count.lock().await;
        if self.parts.backlogs.look(pool, Instant::now()).1 {
            self.count_backlog(pool).await;
        }
        self.parts.backlogs.look(pool, Instant::now()).0
    }

    /// Returns the last known backlog of a pool; `None` if no execution was started there.
    pub fn backlog(&self, pool: &Pool) -> Option<u64> {
        let pools = self.parts.backlogs.pools();
        pools.peek(pool).map(|backlog| backlog.counted.saturating_add(backlog.added))
    }

    async fn count_backlog(&self, pool: &Pool) {
        let Some(limit) = self.parts.backlogs.limit else { return };
        // Enough to know whether either limit is reached.
        let count_max = limit.saturating_mul(2).saturating_add(1);
        match self.parts.store.waiting_executions(pool, count_max).await {
            Ok(counted) => self.parts.backlogs.counted(pool, counted),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %pool, "cannot count the backlog");
            }
        }
    }
}
