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
    pools: Mutex<LruCache<Pool, Backlog>>,
}

#[derive(Debug, Clone, Copy)]
struct Backlog {
    counted: u64,
    /// Executions that began to wait since the last count.
    added: u64,
    /// The time of the next count.
    due_at: Instant,
}

impl Backlogs {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self { limit, pools: Mutex::new(LruCache::sparse(POOLS_MAX)) }
    }

    fn pools(&self) -> MutexGuard<'_, LruCache<Pool, Backlog>> {
        self.pools.lock().expect("nothing panics while it holds the backlogs")
    }

    /// Returns the number of waiting executions, and true if the caller has to count them again.
    fn look(&self, pool: &Pool, now: Instant) -> (u64, bool) {
        let mut pools = self.pools();
        let fresh = || Backlog { counted: 0, added: 0, due_at: now };
        let backlog = pools.get_or_insert_mut_ref(pool, fresh);
        let is_due = backlog.due_at <= now;
        if is_due {
            backlog.due_at = now + COUNT_EVERY;
        }
        (backlog.counted.saturating_add(backlog.added), is_due)
    }

    fn counted(&self, pool: &Pool, counted: u64) {
        if let Some(backlog) = self.pools().get_mut(pool) {
            *backlog = Backlog { counted, added: 0, due_at: Instant::now() + COUNT_EVERY };
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
    /// Fails if too many executions wait in the pool.
    pub fn admit(&self, pool: &Pool, admission: Admission) -> Result<(), StartError> {
        let Some(limit) = self.parts.backlogs.limit else { return Ok(()) };
        let limit = match admission {
            Admission::Granted => return Ok(()),
            Admission::Request => limit,
            Admission::Internal => limit.saturating_mul(2),
        };
        let (waiting, is_due) = self.parts.backlogs.look(pool, Instant::now());
        if is_due {
            self.count_backlog(pool.clone());
        }
        if waiting < limit {
            return Ok(());
        }
        let pool = pool.clone();
        Err(StartError::BacklogFull(BacklogFull { pool, waiting, limit, retry_after: RETRY_AFTER }))
    }

    /// Returns the last known backlog of a pool; `None` if no execution was started there.
    pub fn backlog(&self, pool: &Pool) -> Option<u64> {
        let pools = self.parts.backlogs.pools();
        pools.peek(pool).map(|backlog| backlog.counted.saturating_add(backlog.added))
    }

    /// Counts the backlog of a pool in a background task.
    fn count_backlog(&self, pool: Pool) {
        let Some(limit) = self.parts.backlogs.limit else { return };
        let control = self.clone();
        self.parts.tasks.spawn(async move {
            // Enough to know if either limit is reached.
            let count_max = limit.saturating_mul(2).saturating_add(1);
            match control.parts.store.waiting_executions(&pool, count_max).await {
                Ok(counted) => control.parts.backlogs.counted(&pool, counted),
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, %pool, "backlog not counted");
                }
            }
        });
    }
}
