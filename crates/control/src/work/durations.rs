//! Histograms of the durations of executions and commands that this process has ended.
//!
//! Invariant: the number of histograms is bounded. Pools beyond [`POOLS_MAX`] share one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use noetl_engine::{CommandOutcome, CommandTiming};
use noetl_model::{ExecutionStatus, Pool, Priority, Recorded, ToolKind};
use noetl_store::Append;

/// The upper bounds of the buckets, in seconds.
pub const DURATION_BOUNDS: [f64; 12] =
    [0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0, 7200.0, 86_400.0];
/// The maximum number of pools with histograms of their own.
const POOLS_MAX: usize = 64;
/// The name under which the times of further pools are counted.
const OTHER_POOLS: &str = "other";

/// A histogram of durations with the buckets of [`DURATION_BOUNDS`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DurationHistogram {
    /// The number of durations in each bucket, without those in lower ones.
    pub buckets: [u64; DURATION_BOUNDS.len()],
    /// The number of all durations, also of those beyond the last bucket.
    pub count: u64,
    pub sum: Duration,
}

impl DurationHistogram {
    fn add(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        if let Some(bucket) = DURATION_BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket] += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
    }
}

/// The histograms of one process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DurationTable {
    /// From the start to the end of an execution, by its status.
    pub executions: BTreeMap<ExecutionStatus, DurationHistogram>,
    /// From the claim to the end of a command.
    pub commands: BTreeMap<(Pool, ToolKind, CommandOutcome), DurationHistogram>,
    /// From the issue to the claim of a command.
    pub queued: BTreeMap<(Pool, Priority), DurationHistogram>,
}

/// The histograms, updated when an append is committed.
#[derive(Debug, Default)]
pub(crate) struct Durations(Mutex<DurationTable>);

impl Durations {
    /// Adds the duration of an execution that ends in a committed append.
    pub(crate) fn written(&self, append: &Append) {
        let is_end = |recorded: &Recorded| recorded.event.ends_execution();
        let Some(end) = append.events.iter().find(|recorded| is_end(recorded)) else { return };
        let took = end.at.since(append.summary.started_at);
        self.change(|table| table.executions.entry(append.summary.status).or_default().add(took));
    }

    /// Adds the times of commands that have ended in a committed append.
    pub(crate) fn ended(&self, timings: &[CommandTiming]) {
        if timings.is_empty() {
            return;
        }
        self.change(|table| timings.iter().for_each(|timing| table.add(timing)));
    }

    pub(crate) fn table(&self) -> DurationTable {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut DurationTable)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl DurationTable {
    fn add(&mut self, timing: &CommandTiming) {
        let pool = self.counted_pool(&timing.pool);
        if let Some(ran) = timing.ran {
            let key = (pool.clone(), timing.tool, timing.end);
            self.commands.entry(key).or_default().add(ran);
        }
        if let Some(queued) = timing.queued {
            self.queued.entry((pool, timing.priority)).or_default().add(queued);
        }
    }

    fn counted_pool(&self, pool: &Pool) -> Pool {
        let queued = self.queued.keys().map(|(pool, _)| pool);
        let pools: BTreeSet<&Pool> =
            queued.chain(self.commands.keys().map(|(pool, ..)| pool)).collect();
        match pools.contains(pool) || pools.len() < POOLS_MAX {
            true => pool.clone(),
            false => Pool::new(OTHER_POOLS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(pool: &str, queued: u64) -> CommandTiming {
        CommandTiming {
            tool: ToolKind::Http,
            pool: Pool::new(pool),
            priority: Priority::default(),
            end: CommandOutcome::Failed,
            queued: Some(Duration::from_secs(queued)),
            ran: None,
        }
    }

    #[test]
    fn a_duration_is_counted_in_the_first_bucket_that_holds_it() {
        let mut histogram = DurationHistogram::default();
        for seconds in [0, 5, 6, 100_000] {
            histogram.add(Duration::from_secs(seconds));
        }
        assert_eq!(histogram.buckets, [1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!((histogram.count, histogram.sum.as_secs()), (4, 100_011));
    }

    #[test]
    fn the_number_of_pools_is_bounded() {
        let durations = Durations::default();
        let timings: Vec<_> = (0..200).map(|n| timing(&format!("pool-{n}"), n)).collect();
        durations.ended(&timings);
        let table = durations.table();
        assert_eq!(table.queued.len(), POOLS_MAX + 1);
        let other = &table.queued[&(Pool::new(OTHER_POOLS), Priority::default())];
        assert_eq!(other.count, 200 - POOLS_MAX as u64);
        assert!(table.commands.is_empty(), "a command that no worker held has not run");
    }
}
