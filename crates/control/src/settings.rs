//! The settings of the control plane.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

/// The default limit of executions that wait in a pool: a few seconds' worth of small ones.
pub const BACKLOG_DEFAULT: u64 = 4000;

/// The program that sends the notifications of the outbox to the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationSender {
    /// The relay of the control plane.
    Relay,
    /// A program that claims them; they wait in the outbox until it has sent them.
    External,
}

/// The settings of the control plane; the defaults suit both a laptop and a server.
#[derive(Debug, Clone)]
pub struct ControlSettings {
    /// The longest time a worker may go without a heartbeat.
    pub lease: Duration,
    /// The longest time a loop waits for a hint before it polls.
    pub poll: Duration,
    /// The interval of the search for expired leases without further attempts.
    pub sweep_every: Duration,
    /// The interval of the search for stalled executions, and how long they have to be idle.
    pub stall_after: Duration,
    /// The interval of the search for commands to announce again, and how long a new command may
    /// wait before it is announced.
    pub remind_every: Duration,
    pub remind_after: Duration,
    /// The number of events after which a snapshot is saved.
    pub snapshot_every: NonZeroU64,
    /// The time after which a snapshot is saved at the next event, however few there were.
    pub snapshot_after: Duration,
    /// The number of events after which a state is saved for reads of earlier positions.
    pub state_saved_every: NonZeroU64,
    /// The largest number of execution states in memory.
    pub states_max: NonZeroUsize,
    /// The largest number of compiled playbooks in memory.
    pub playbooks_max: NonZeroUsize,
    /// The largest number of step runs of an execution; more indicates a cycle without progress.
    pub runs_max: u64,
    /// The largest number of events of an execution.
    pub events_max: u64,
    /// The number of workers that may lose a command before it fails.
    pub attempts_max: u32,
    /// The number of executions that may wait for a worker in a pool before further starts are
    /// refused; `None` for no limit.
    pub backlog_max: Option<u64>,
    /// The sender of notifications to workers that do not poll.
    pub notifications: NotificationSender,
    /// The memory limit of the cache of large values, in bytes.
    pub payload_bytes_max: usize,
    /// The address of the web interface, for links in notifications.
    pub public_url: Option<String>,
}

impl Default for ControlSettings {
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
            state_saved_every: NonZeroU64::new(10_000).expect("not zero"),
            states_max: NonZeroUsize::new(4096).expect("not zero"),
            playbooks_max: NonZeroUsize::new(256).expect("not zero"),
            runs_max: noetl_engine::RUNS_MAX,
            events_max: noetl_engine::EVENTS_MAX,
            attempts_max: noetl_engine::ATTEMPTS_MAX,
            backlog_max: Some(BACKLOG_DEFAULT),
            notifications: NotificationSender::Relay,
            payload_bytes_max: 64 * 1024 * 1024,
            public_url: None,
        }
    }
}
