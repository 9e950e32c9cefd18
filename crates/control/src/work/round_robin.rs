//! Fairness between executions: the round-robin position of each pool, and the executions that
//! wait.
//!
//! Commands are leased round-robin over the executions of a pool. This process keeps the execution
//! served last, so that every lease continues after the previous one. It also keeps executions
//! known to wait: for each of them, one worker does not get the next command of a wide execution, so
//! that its slot becomes free.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lru::LruCache;
use noetl_model::{ExecutionId, Pool, Priority};
use noetl_store::{Append, QueueChange};
use tokio::time::Instant;

/// The largest number of pools in the cache.
const POOLS_MAX: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");
/// The largest number of waiting executions kept per pool; one is enough for the decision.
const WAITING_MAX: usize = 64;
/// The time an execution is assumed to wait. Another server may have served it meanwhile.
const BELIEVED: Duration = Duration::from_secs(1);

/// The round-robin positions of the pools in use.
#[derive(Debug)]
pub(crate) struct RoundRobin {
    pools: Mutex<LruCache<Pool, PoolRound>>,
}

#[derive(Debug, Default)]
struct PoolRound {
    /// The execution served last.
    last: Option<ExecutionId>,
    /// Executions with an unclaimed command.
    waiting: BTreeMap<ExecutionId, WaitingExecution>,
}

/// An execution with an unclaimed command.
#[derive(Debug, Clone, Copy)]
struct WaitingExecution {
    /// The time until which the execution is assumed to wait.
    until: Instant,
    /// True if a slot is becoming free for the execution.
    has_slot: bool,
    priority: Priority,
}

impl RoundRobin {
    pub(crate) fn new() -> Self {
        Self { pools: Mutex::new(LruCache::sparse(POOLS_MAX)) }
    }

    /// Returns the execution of a pool that was served last.
    pub(crate) fn last(&self, pool: &Pool) -> Option<ExecutionId> {
        self.pools().get(pool)?.last
    }

    /// Records that a command of an execution is being leased.
    pub(crate) fn served(&self, pool: &Pool, execution: ExecutionId) {
        let mut pools = self.pools();
        let round = round_of(&mut pools, pool);
        round.last = Some(execution);
        round.waiting.remove(&execution);
    }

    /// Records that a command of an execution waits.
    pub(crate) fn waits(&self, pool: &Pool, execution: ExecutionId, priority: Priority) {
        let now = Instant::now();
        let mut pools = self.pools();
        let waiting = &mut round_of(&mut pools, pool).waiting;
        if waiting.len() >= WAITING_MAX {
            waiting.retain(|_, waiting| waiting.until > now);
        }
        if waiting.len() < WAITING_MAX || waiting.contains_key(&execution) {
            let (until, has_slot) = (now + BELIEVED, false);
            waiting.insert(execution, WaitingExecution { until, has_slot, priority });
        }
    }

    /// Records the commands that an append has left unclaimed.
    pub(crate) fn committed(&self, append: &Append) {
        let mut left: BTreeMap<_, (&Pool, Priority)> = BTreeMap::new();
        for change in &append.queue {
            match change {
                QueueChange::Add { command, pool, priority, is_parked: false, .. } => {
                    left.insert(*command, (pool, *priority));
                }
                // A poll finds a command that is not parked any more.
                QueueChange::Add { is_parked: true, .. } | QueueChange::Unpark { .. } => {}
                QueueChange::Lease { command, .. }
                | QueueChange::Park { command }
                | QueueChange::Expire { command, .. }
                | QueueChange::Remove { command } => {
                    left.remove(command);
                }
            }
        }
        let pools: BTreeSet<(&Pool, Priority)> = left.into_values().collect();
        for (pool, priority) in pools {
            self.waits(pool, append.execution, priority);
        }
    }

    /// True if a slot of this execution should become free for another one that waits in the pool:
    /// for one with a higher priority or, if this execution is wide, with the same. Every waiting
    /// execution gets one slot.
    pub(crate) fn yields_slot(
        &self,
        pool: &Pool,
        (execution, priority): (ExecutionId, Priority),
        is_wide: bool,
    ) -> bool {
        let now = Instant::now();
        let mut pools = self.pools();
        let Some(round) = pools.peek_mut(pool) else { return false };
        let other = round.waiting.iter_mut().find(|(other, waiting)| {
            let is_next = waiting.priority > priority || (is_wide && waiting.priority == priority);
            **other != execution && waiting.until > now && !waiting.has_slot && is_next
        });
        let Some((_, waiting)) = other else { return false };
        waiting.has_slot = true;
        true
    }

    fn pools(&self) -> MutexGuard<'_, LruCache<Pool, PoolRound>> {
        self.pools.lock().expect("nothing panics while it holds the rounds")
    }
}

fn round_of<'a>(pools: &'a mut LruCache<Pool, PoolRound>, pool: &Pool) -> &'a mut PoolRound {
    pools.get_or_insert_mut_ref(pool, PoolRound::default)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ExecutionId = ExecutionId(1);
    const B: ExecutionId = ExecutionId(2);
    const NORMAL: Priority = Priority::LOWEST;

    #[tokio::test(start_paused = true)]
    async fn a_slot_becomes_free_for_a_higher_priority_but_not_for_a_lower_one() {
        let rounds = RoundRobin::new();
        let pool = Pool::shared();
        let (low, high) = (Priority::LOWEST, Priority::HIGHEST);
        rounds.waits(&pool, A, low);
        assert!(!rounds.yields_slot(&pool, (B, high), true));
        assert!(!rounds.yields_slot(&pool, (B, low), false), "only a wide execution yields");
        rounds.waits(&pool, A, high);
        assert!(rounds.yields_slot(&pool, (B, low), false));
    }

    #[tokio::test(start_paused = true)]
    async fn an_execution_waits_until_it_is_served_or_too_long_ago() {
        let rounds = RoundRobin::new();
        let pool = Pool::shared();
        assert!(!rounds.yields_slot(&pool, (A, NORMAL), true));
        rounds.waits(&pool, A, NORMAL);
        assert!(
            !rounds.yields_slot(&pool, (A, NORMAL), true),
            "an execution does not wait for itself"
        );
        assert!(!rounds.yields_slot(&Pool::control(), (B, NORMAL), true));
        rounds.served(&pool, A);
        assert!(!rounds.yields_slot(&pool, (B, NORMAL), true));
        assert_eq!(rounds.last(&pool), Some(A));
        rounds.waits(&pool, A, NORMAL);
        tokio::time::advance(BELIEVED).await;
        assert!(!rounds.yields_slot(&pool, (B, NORMAL), true));
    }

    #[tokio::test(start_paused = true)]
    async fn one_slot_becomes_free_for_every_execution_that_waits() {
        let rounds = RoundRobin::new();
        let pool = Pool::shared();
        rounds.waits(&pool, A, NORMAL);
        assert!(rounds.yields_slot(&pool, (B, NORMAL), true));
        assert!(!rounds.yields_slot(&pool, (B, NORMAL), true), "the slot for A is on its way");
        rounds.waits(&pool, A, NORMAL);
        assert!(rounds.yields_slot(&pool, (B, NORMAL), true));
    }

    #[tokio::test(start_paused = true)]
    async fn the_executions_that_are_remembered_are_bounded() {
        let rounds = RoundRobin::new();
        let pool = Pool::shared();
        for execution in 0..=i64::try_from(WAITING_MAX).unwrap() {
            rounds.waits(&pool, ExecutionId(execution), NORMAL);
        }
        assert_eq!(rounds.pools().peek(&pool).unwrap().waiting.len(), WAITING_MAX);
    }
}
