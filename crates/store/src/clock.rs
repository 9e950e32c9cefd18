//! Clocks: the machine's own, a monotonic one, and an estimate of a remote clock.
//!
//! A store has one clock, and every stored instant (leases, timers, schedules, event times) is
//! compared with that clock. A process uses its own clock only for waiting.

mod remote;
mod steady;

use std::time::{SystemTime, UNIX_EPOCH};

use noetl_model::Timestamp;

pub use remote::{ClockReading, RemoteClock};
pub use steady::SteadyClock;

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 counts as 1970.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(0).after(since_epoch)
    }
}
