//! Pools with their queues and workers.

use std::collections::BTreeMap;

use noetl_api::wire::WORKER_KIND;
use noetl_model::{Pool, Timestamp};
use noetl_store::{LeasedCommand, StoreError};

use crate::app::App;
use crate::unserved_pools::pool_name;

/// Maximum number of commands in progress that are listed.
const LEASED_MAX: usize = 500;

/// A pool: the commands that wait in it, and the workers that take them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolQueue {
    pub pool: Pool,
    /// Commands that can be leased now.
    pub ready: u64,
    /// The time since which the oldest command that was never leased waits.
    pub oldest: Option<Timestamp>,
    /// Registered workers of the pool that are online.
    pub workers: usize,
    /// True if a worker takes commands of the pool, registered or not.
    pub is_served: bool,
}

impl App {
    /// Lists commands that workers run now.
    pub async fn commands_in_progress(&self) -> Result<Vec<LeasedCommand>, StoreError> {
        self.store().leased(LEASED_MAX).await
    }

    /// Lists the pools that have a command or a worker; those with commands and no worker first,
    /// then by name.
    pub async fn pool_queues(&self) -> Result<Vec<PoolQueue>, StoreError> {
        let unserved = self.unserved_pools().await?;
        let mut workers: BTreeMap<Pool, usize> = BTreeMap::new();
        let (now, silence) = (self.now(), self.worker_silence());
        for worker in self.records().runtimes(WORKER_KIND).await? {
            if now.since(worker.heartbeat) <= silence {
                let pool = pool_name(&worker).map_or_else(Pool::shared, Pool::new);
                *workers.entry(pool).or_default() += 1;
            }
        }
        let waiting = self.store().ready_pools().await?;
        for pool in waiting.into_iter().filter(|pool| pool.as_str() != Pool::CONTROL) {
            workers.entry(pool).or_default();
        }
        let mut queues = Vec::with_capacity(workers.len());
        for (pool, workers) in workers {
            let ready = self.store().ready_count(&pool).await?;
            let oldest = self.store().oldest_ready(&pool).await?;
            let is_served = !unserved.contains(&pool);
            queues.push(PoolQueue { pool, ready, oldest, workers, is_served });
        }
        queues.sort_by_key(|queue| queue.is_served);
        Ok(queues)
    }
}
