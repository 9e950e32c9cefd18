//! Worlds out of a seed: real control planes on simulated time, and everything around them that fails.
//!
//! A world has a store and a bus that fail, delay, repeat and reorder; a store that goes back in time
//! and whose clock is set; servers that die in the middle of things and come back with another clock; workers that die, oversleep their leases and repeat
//! themselves; clients that change their minds. After a while nothing fails any more; then everything
//! has to come to its end, and [`run`] compares what there is with what must be.
//!
//! Invariant: a world depends on its seed and on nothing else, so a failure can be looked at again.

mod bus;
mod client;
mod clock;
mod expected;
mod fleet;
mod ledger;
mod oracle;
mod panics;
mod playbooks;
mod rng;
mod store;
mod storm;
mod worker;
mod world;

use noetl_model::{Digest, Recorded, Summary};
use thiserror::Error;

/// What a world went through, to see that it went through something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Of all logs, so that two worlds can be compared.
    pub logs: Digest,
    pub executions: u64,
    /// Executions whose result was compared with that of a world without faults.
    pub compared: u64,
    /// Claims that took a command over from another worker.
    pub takeovers: u64,
    /// Reports that came after that.
    pub superseded: u64,
    /// Commands that ran out of attempts.
    pub lost: u64,
    /// Servers that died or were stopped.
    pub deaths: u64,
    /// Executions that were begun with the past of another.
    pub forks: u64,
    /// Times that the store went back to a backup.
    pub restored: u64,
    /// Losses of events that servers noticed and recorded.
    pub losses: u64,
}

/// An execution of a world once everything has ended.
#[derive(Debug, Clone)]
pub struct History {
    pub summary: Summary,
    /// All of its events, those included that it shares with another.
    pub log: Vec<Recorded>,
}

/// Something that must not be, and the world in which it is.
#[derive(Debug, Error)]
#[error("seed {seed}: {problem}\nagain with: SIM_SEED={seed} cargo test -p noetl-sim")]
pub struct Violation {
    pub seed: u64,
    pub problem: String,
}

/// Lets a world live and looks at what is left of it.
pub fn run(seed: u64) -> Result<Tally, Violation> {
    lived(seed).map(|(tally, _)| tally)
}

/// The executions of a world, oldest first.
pub fn histories(seed: u64) -> Result<Vec<History>, Violation> {
    lived(seed).map(|(_, histories)| histories)
}

fn lived(seed: u64) -> Result<(Tally, Vec<History>), Violation> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without input and output can be built");
    panics::notice();
    let lived = runtime.block_on(world::live(seed));
    let problem = match (panics::noticed(), lived) {
        (Some(panic), _) => panic,
        (None, Ok(lived)) => return Ok(lived),
        (None, Err(problem)) => problem,
    };
    Err(Violation { seed, problem })
}
