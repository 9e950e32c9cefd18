//! Fairness between executions: where the round of a pool stands, and which executions wait in it.
//!
//! Commands are leased in rounds over the executions of a pool. This process remembers the execution
//! that it served last, so that every lease goes on where the one before has ended. It also remembers
//! executions that are known to wait: a worker is not handed one command of a wide execution after
//! another while they do.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lru::LruCache;
use noetl_model::{ExecutionId, Pool};
use noetl_store::{Append, QueueChange};
use tokio::time::Instant;

/// How many pools are remembered.
const POOLS_MAX: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");
/// How many waiting executions are remembered for each pool; that there is one is what matters.
const WAITING_MAX: usize = 64;
/// For how long an execution is believed to wait. Another server may have served it meanwhile.
const BELIEVED: Duration = Duration::from_secs(1);

/// The rounds of the pools in use.
#[derive(Debug)]
pub(crate) struct Rounds {
    pools: Mutex<LruCache<Pool, Round>>,
}

#[derive(Debug, Default)]
struct Round {
    /// The execution served last.
    last: Option<ExecutionId>,
    /// Executions with a command that nobody has, and until when that is believed.
    waiting: BTreeMap<ExecutionId, Instant>,
}

impl Rounds {
    pub(crate) fn new() -> Self {
        Self { pools: Mutex::new(LruCache::sparse(POOLS_MAX)) }
    }

    /// The execution of a pool that was served last.
    pub(crate) fn last(&self, pool: &Pool) -> Option<ExecutionId> {
        self.pools().get(pool)?.last
    }

    /// Notes that a command of an execution is being handed out.
    pub(crate) fn served(&self, pool: &Pool, execution: ExecutionId) {
        let mut pools = self.pools();
        let round = round_of(&mut pools, pool);
        round.last = Some(execution);
        round.waiting.remove(&execution);
    }

    /// Notes that a command of an execution waits.
    pub(crate) fn waits(&self, pool: &Pool, execution: ExecutionId) {
        let now = Instant::now();
        let mut pools = self.pools();
        let waiting = &mut round_of(&mut pools, pool).waiting;
        if waiting.len() >= WAITING_MAX {
            waiting.retain(|_, until| *until > now);
        }
        if waiting.len() < WAITING_MAX || waiting.contains_key(&execution) {
            waiting.insert(execution, now + BELIEVED);
        }
    }

    /// Notes the commands that an append has left to be leased.
    pub(crate) fn committed(&self, append: &Append) {
        let mut left: BTreeMap<_, &Pool> = BTreeMap::new();
        for change in &append.queue {
            match change {
                QueueChange::Add { command, pool, .. } => {
                    left.insert(*command, pool);
                }
                QueueChange::Lease { command, .. }
                | QueueChange::Park { command }
                | QueueChange::Expire { command, .. }
                | QueueChange::Remove { command } => {
                    left.remove(command);
                }
            }
        }
        let pools: BTreeSet<&Pool> = left.into_values().collect();
        pools.into_iter().for_each(|pool| self.waits(pool, append.execution));
    }

    /// Returns whether an execution other than this one is known to wait in a pool.
    pub(crate) fn others_wait(&self, pool: &Pool, execution: ExecutionId) -> bool {
        let now = Instant::now();
        let pools = self.pools();
        let Some(round) = pools.peek(pool) else { return false };
        round.waiting.iter().any(|(other, until)| *other != execution && *until > now)
    }

    fn pools(&self) -> MutexGuard<'_, LruCache<Pool, Round>> {
        self.pools.lock().expect("nothing panics while it holds the rounds")
    }
}

fn round_of<'a>(pools: &'a mut LruCache<Pool, Round>, pool: &Pool) -> &'a mut Round {
    pools.get_or_insert_mut_ref(pool, Round::default)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ExecutionId = ExecutionId(1);
    const B: ExecutionId = ExecutionId(2);

    #[tokio::test(start_paused = true)]
    async fn an_execution_waits_until_it_is_served_or_too_long_ago() {
        let rounds = Rounds::new();
        let pool = Pool::shared();
        assert!(!rounds.others_wait(&pool, A));
        rounds.waits(&pool, A);
        assert!(!rounds.others_wait(&pool, A), "an execution does not wait for itself");
        assert!(rounds.others_wait(&pool, B));
        assert!(!rounds.others_wait(&Pool::control(), B));
        rounds.served(&pool, A);
        assert!(!rounds.others_wait(&pool, B));
        assert_eq!(rounds.last(&pool), Some(A));
        rounds.waits(&pool, A);
        tokio::time::advance(BELIEVED).await;
        assert!(!rounds.others_wait(&pool, B));
    }

    #[tokio::test(start_paused = true)]
    async fn the_executions_that_are_remembered_are_bounded() {
        let rounds = Rounds::new();
        let pool = Pool::shared();
        for execution in 0..=i64::try_from(WAITING_MAX).unwrap() {
            rounds.waits(&pool, ExecutionId(execution));
        }
        assert_eq!(rounds.pools().peek(&pool).unwrap().waiting.len(), WAITING_MAX);
    }
}
