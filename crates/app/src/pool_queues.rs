//! Pools with their queues and workers.

use std::collections::BTreeMap;

use noetl_api::wire::WORKER_KIND;
use noetl_model::Pool;
use noetl_store::StoreError;

use crate::app::App;
use crate::unserved_pools::pool_name;

/// A pool: the commands that wait in it, and the workers that take them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolQueue {
    pub pool: Pool,
    /// Commands that can be leased now.
    pub ready: u64,
    /// Registered workers of the pool that are online.
    pub workers: usize,
    /// True if a worker takes commands of the pool, registered or not.
    pub is_served: bool,
}

impl App {
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
            let is_served = !unserved.contains(&pool);
            queues.push(PoolQueue { pool, ready, workers, is_served });
        }
        queues.sort_by_key(|queue| queue.is_served);
        Ok(queues)
    }
}
