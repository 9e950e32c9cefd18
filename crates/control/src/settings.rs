//! What an operator may set.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

/// How many executions may wait in a pool if the operator does not say: a few seconds' worth of small
/// ones.
pub const BACKLOG_DEFAULT: u64 = 1000;

/// What an operator may set; the defaults suit both a laptop and a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a worker may go without a heartbeat.
    pub lease: Duration,
    /// How long any loop waits for a hint before it looks by itself.
    pub poll: Duration,
    /// How often leases that ran out for the last time are looked for.
    pub sweep_every: Duration,
    /// How often executions that nothing moves are looked for, and how long they have to be idle.
    pub stall_after: Duration,
    /// How often commands are looked for that workers have to be told of again, and for how long a
    /// new one may wait before they are.
    pub remind_every: Duration,
    pub remind_after: Duration,
    /// After how many events the state of an execution is saved.
    pub snapshot_every: NonZeroU64,
    /// After how long it is saved, if anything happens, however few events there were.
    pub snapshot_after: Duration,
    /// How many executions' states are kept in memory.
    pub states_max: NonZeroUsize,
    /// How many playbooks are kept compiled.
    pub playbooks_max: NonZeroUsize,
    /// How often steps of an execution may be entered; more is a cycle that makes no progress.
    pub runs_max: u64,
    /// How many events an execution may have, whatever they are.
    pub events_max: u64,
    /// How many workers may lose a command before it fails.
    pub attempts_max: u32,
    /// How many executions may wait for a worker in a pool before requests to start more are refused;
    /// `None` for no limit.
    pub backlog_max: Option<u64>,
    /// How many bytes of memory the large values that were used lately may take.
    pub payload_bytes_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            poll: Duration::from_secs(1),
            sweep_every: Duration::from_secs(1),
            stall_after: Duration::from_secs(30),
            remind_every: Duration::from_secs(2),
            remind_after: Duration::from_secs(30),
            snapshot_every: NonZeroU64::new(1000).expect("not zero"),
            snapshot_after: Duration::from_secs(600),
            states_max: NonZeroUsize::new(4096).expect("not zero"),
            playbooks_max: NonZeroUsize::new(256).expect("not zero"),
            runs_max: noetl_engine::RUNS_MAX,
            events_max: noetl_engine::EVENTS_MAX,
            attempts_max: noetl_engine::ATTEMPTS_MAX,
            backlog_max: Some(BACKLOG_DEFAULT),
            payload_bytes_max: 16 * 1024 * 1024,
        }
    }
}
