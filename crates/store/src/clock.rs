//! Clocks: the machine's own, one that never goes back, and an estimate of a clock elsewhere.
//!
//! A store has one clock, and everything that is compared with a stored instant is compared with it:
//! leases, timers, schedules, event times. A process uses its own clock for waiting only.

mod remote;
mod steady;

use std::time::{SystemTime, UNIX_EPOCH};

use noetl_model::Timestamp;

pub use remote::{Reading, RemoteClock};
pub use steady::SteadyClock;

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 counts as 1970.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(0).after(since_epoch)
    }
}
