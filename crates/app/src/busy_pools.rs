//! Pools whose workers all run other commands while commands of the pool wait.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_model::Pool;
use noetl_store::StoreError;
use tokio::time::Instant;

use crate::app::App;
use crate::pool_queues::PoolQueue;

/// Maximum age of the cached lookup.
const FRESH: Duration = Duration::from_secs(2);

/// The wait of an execution for a pool whose workers are busy; the text tells how to help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusyWait {
    pub pool: Pool,
    /// The number of registered workers of the pool; 0 if they do not register.
    pub workers: usize,
    /// The number of commands of all executions that wait in the pool.
    pub commands: u64,
    /// The time that the oldest command of the execution has waited.
    pub waited: Duration,
}

/// The queues of pools, and when they were read.
type ReadQueues = (Instant, Arc<BTreeMap<Pool, PoolQueue>>);

/// The queues of pools in which a worker runs a command; cached briefly.
#[derive(Default)]
pub(crate) struct BusyPools {
    known: Mutex<Option<ReadQueues>>,
}

impl BusyPools {
    fn known(&self) -> MutexGuard<'_, Option<ReadQueues>> {
        self.known.lock().expect("nothing panics while it holds the pools")
    }
}

impl App {
    /// Returns the wait for a pool whose workers are busy; `None` if no worker runs a command of it.
    pub(crate) async fn busy_wait(
        &self,
        pool: &Pool,
        waited: Duration,
    ) -> Result<Option<BusyWait>, StoreError> {
        let pools = self.busy_pools_by_name().await?;
        Ok(pools.get(pool).map(|queue| BusyWait {
            pool: pool.clone(),
            workers: queue.workers,
            // The command that waits is one of them, even if the count is older than its wait.
            commands: queue.ready.max(1),
            waited,
        }))
    }

    async fn busy_pools_by_name(&self) -> Result<Arc<BTreeMap<Pool, PoolQueue>>, StoreError> {
        let known = self.busy_pools().known().clone();
        if let Some((_, known)) = known.filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(known);
        }
        let leased = self.commands_in_progress().await?;
        let queues = self.pool_queues().await?.into_iter();
        let busy = queues.filter(|queue| leased.iter().any(|command| command.pool == queue.pool));
        let found: BTreeMap<Pool, PoolQueue> =
            busy.map(|queue| (queue.pool.clone(), queue)).collect();
        let found = Arc::new(found);
        *self.busy_pools().known() = Some((Instant::now(), found.clone()));
        Ok(found)
    }
}

impl fmt::Display for BusyWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, workers, commands, waited } = self;
        match workers {
            0 => write!(f, "The workers of pool `{pool}` are busy"),
            1 => write!(f, "The only worker of pool `{pool}` is busy"),
            count => write!(f, "All {count} workers of pool `{pool}` are busy"),
        }?;
        match commands {
            1 => write!(f, "; 1 command waits"),
            count => write!(f, "; {count} commands wait"),
        }?;
        let waited = ShortTime(*waited);
        write!(
            f,
            ", the oldest of this execution for {waited}. Add a worker with `noetl worker --pool {pool}`."
        )
    }
}

/// A duration in its largest unit that gives at least two.
pub(crate) struct ShortTime(pub(crate) Duration);

impl fmt::Display for ShortTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            seconds @ 0..120 => write!(f, "{seconds} s"),
            seconds @ 120..7200 => write!(f, "{} min", seconds / 60),
            seconds => write!(f, "{} h", seconds / 3600),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(workers: usize, commands: u64, expected: &str) {
        let (pool, waited) = (Pool::new("gpu"), Duration::from_secs(150));
        let hint = BusyWait { pool, workers, commands, waited }.to_string();
        let rest = ", the oldest of this execution for 2 min. Add a worker with `noetl worker --pool gpu`.";
        assert_eq!(hint, format!("{expected}{rest}"));
    }

    #[test]
    fn a_hint_says_how_many_workers_are_busy_and_how_many_commands_wait() {
        check(4, 12, "All 4 workers of pool `gpu` are busy; 12 commands wait");
        check(1, 1, "The only worker of pool `gpu` is busy; 1 command waits");
        check(0, 2, "The workers of pool `gpu` are busy; 2 commands wait");
    }
}
