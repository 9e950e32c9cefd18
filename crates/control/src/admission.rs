//! Admission control: new executions are refused while too many wait in their pool.
//!
//! Starting executions must not take the capacity for finishing them. The backlog of a pool is the
//! number of executions with a command that no worker has taken. It is counted in the store from time
//! to time, never for a single start; in between, starts that no worker was free for are added.
//!
//! Starts that the control plane makes by itself (children, schedules, messages of subscriptions) have
//! twice the limit: they are put off and tried again, and requests must not take their place.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lru::LruCache;
use noetl_model::Pool;
use tokio::time::Instant;

use crate::{Control, StartError};

/// How many pools are remembered.
const POOLS_MAX: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");
/// How old a count may be before it is made anew.
const COUNT_EVERY: Duration = Duration::from_millis(250);
/// How long a client that is refused should wait before it asks again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The limit of the backlog that a start is subject to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A request from outside: refused while the backlog is full.
    Request,
    /// A start of the control plane itself, which tries again later.
    Internal,
    /// Admitted already, as part of a batch.
    Granted,
}

/// A pool in which too many executions wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BacklogFull {
    pub pool: Pool,
    /// How many wait, as far as they were counted.
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
    /// Executions that began to wait since.
    added: u64,
    /// When it is to be counted again.
    due_at: Instant,
}

impl Backlogs {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self { limit, pools: Mutex::new(LruCache::sparse(POOLS_MAX)) }
    }

    fn pools(&self) -> MutexGuard<'_, LruCache<Pool, Backlog>> {
        self.pools.lock().expect("nothing panics while it holds the backlogs")
    }

    /// How many executions wait in a pool, and whether that has to be counted; the caller counts.
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

    /// Notes that an execution was started for which no worker was free.
    pub(crate) fn added(&self, pool: &Pool) {
        if let Some(backlog) = self.pools().get_mut(pool) {
            backlog.added = backlog.added.saturating_add(1);
        }
    }
}

impl Control {
    /// Refuses a start in a pool while too many executions wait there.
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

    /// How many executions were last known to wait in a pool; `None` if nothing was started there.
    pub fn backlog(&self, pool: &Pool) -> Option<u64> {
        let pools = self.parts.backlogs.pools();
        pools.peek(pool).map(|backlog| backlog.counted.saturating_add(backlog.added))
    }

    /// Counts the backlog of a pool, off the path of whoever asks.
    fn count_backlog(&self, pool: Pool) {
        let Some(limit) = self.parts.backlogs.limit else { return };
        let control = self.clone();
        self.parts.tasks.spawn(async move {
            // Enough to know whether either limit is reached.
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
