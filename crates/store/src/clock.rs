//! The time, as a store sees it: the one clock that leases and timers are compared with.

use std::time::{SystemTime, UNIX_EPOCH};

use noetl_model::Timestamp;

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
