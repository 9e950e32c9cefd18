//! Simulation: real control planes on simulated time in a world generated from a seed, with faults
//! everywhere.
//!
//! In a world, the store and the bus fail, delay, repeat and reorder; the store is restored from
//! backups and its clock is set; servers crash at any point and restart with another clock; workers
//! crash, exceed their leases and repeat reports; jobs outlive the workers that started them, call
//! back before they are awaited, and again and again; signals arrive before and after their waits, and
//! again and again; executions share limits, rates, outputs and signals; executions, playbooks and the
//! pool of all workers are paused; clients cancel. After a while the faults stop;
//! then every execution has to end, and [`run`] compares the result with the rules.
//!
//! Invariant: a world depends only on its seed, so a failure can be reproduced.

#[cfg(test)]
mod agreement;
mod bus;
mod client;
mod clock;
mod expected;
mod faults;
mod fleet;
mod job;
mod ledger;
mod oracle;
mod panics;
mod pauser;
mod playbooks;
mod rng;
mod signaller;
mod store;
mod worker;
mod world;

pub use faults::PlantedBug;
use noetl_model::{Digest, Recorded, Summary};
use thiserror::Error;

/// Counts of the faults and executions of a world, to check that it exercised something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorldCounts {
    /// The digest of all logs, to compare two worlds.
    pub logs: Digest,
    pub executions: u64,
    /// Executions whose result was compared with that of a world without faults.
    pub compared: u64,
    /// Claims that took a command over from another worker.
    pub takeovers: u64,
    /// Reports that came after a takeover.
    pub superseded: u64,
    /// Commands that were parked.
    pub parked: u64,
    /// Commands that callbacks ended.
    pub called_back: u64,
    /// Signals that waits took.
    pub signals: u64,
    /// Commands that ran out of attempts.
    pub lost: u64,
    /// Servers that crashed or were stopped.
    pub deaths: u64,
    /// Executions that were started as forks.
    pub forks: u64,
    /// Slots of limits that were granted.
    pub grants: u64,
    /// Commands that began at the rate that all playbooks share.
    pub rated: u64,
    /// Shared signals that were delivered.
    pub shared: u64,
    /// Commands that have reused an output.
    pub reuses: u64,
    /// Pauses of the pool of all workers.
    pub pool_pauses: u64,
    /// Pauses of executions.
    pub pauses: u64,
    /// Restores of the store from a backup.
    pub restored: u64,
    /// Losses of events that servers detected and recorded.
    pub losses: u64,
}

/// An execution of a world after everything has ended.
#[derive(Debug, Clone)]
pub struct ExecutionLog {
    pub summary: Summary,
    /// All events of the execution, including shared ones of a fork's origin.
    pub log: Vec<Recorded>,
}

/// A violated rule, with the seed of the world.
#[derive(Debug, Error)]
#[error("seed {seed}: {problem}\nagain with: SIM_SEED={seed} cargo test -p noetl-sim")]
pub struct Violation {
    pub seed: u64,
    pub problem: String,
}

/// Runs a world and checks the rules.
pub fn run(seed: u64) -> Result<WorldCounts, Violation> {
    lived(seed, None).map(|(tally, _)| tally)
}

/// Runs a world whose store has a bug, and checks the rules.
pub fn run_with_bug(seed: u64, bug: PlantedBug) -> Result<WorldCounts, Violation> {
    lived(seed, Some(bug)).map(|(tally, _)| tally)
}

/// Runs a world and returns its executions, oldest first.
pub fn histories(seed: u64) -> Result<Vec<ExecutionLog>, Violation> {
    lived(seed, None).map(|(_, histories)| histories)
}

fn lived(
    seed: u64,
    planted: Option<PlantedBug>,
) -> Result<(WorldCounts, Vec<ExecutionLog>), Violation> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without input and output can be built");
    panics::notice();
    let lived = runtime.block_on(world::live(seed, planted));
    let problem = match (panics::noticed(), lived) {
        (Some(panic), _) => panic,
        (None, Ok(lived)) => return Ok(lived),
        (None, Err(problem)) => problem,
    };
    Err(Violation { seed, problem })
}
