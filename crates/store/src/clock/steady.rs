//! A wall clock that follows every jump forward and never goes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use noetl_model::Timestamp;
use tokio::time::Instant;

use super::{Clock, SystemClock};

/// The clock of a store in this process. If the machine's clock is set back, this clock continues
/// at normal speed, so that no timer of a running process is delayed; if the machine's clock is set
/// forward or the machine was suspended, this clock follows.
pub struct SteadyClock {
    wall: Arc<dyn Clock>,
    begun: Instant,
    /// The time in microseconds at `begun`, according to the furthest-ahead reading of the wall
    /// clock.
    origin: AtomicI64,
}

impl SteadyClock {
    pub fn over(wall: Arc<dyn Clock>) -> Self {
        let origin = AtomicI64::new(wall.now().as_micros());
        Self { wall, begun: Instant::now(), origin }
    }
}

impl Default for SteadyClock {
    fn default() -> Self {
        Self::over(Arc::new(SystemClock))
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.begun.elapsed().as_micros()).unwrap_or(i64::MAX);
        let by_wall = self.wall.now().as_micros().saturating_sub(elapsed);
        let origin = self.origin.fetch_max(by_wall, Ordering::Relaxed).max(by_wall);
        Timestamp::from_micros(origin.saturating_add(elapsed))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::conformance::TestClock;
    use crate::conformance::given::at;

    /// Checks the time that the clock shows right after the wall clock was set to `seconds`.
    async fn check(seconds: u64, expected: u64) {
        let wall = TestClock::default();
        wall.set(at(100));
        let clock = SteadyClock::over(Arc::new(wall.clone()));
        assert_eq!(clock.now(), at(100));
        tokio::time::advance(Duration::from_secs(1)).await;
        wall.set(at(seconds));
        assert_eq!(clock.now(), at(expected));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_that_is_right_is_followed() {
        check(101, 101).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_set_back_delays_nothing() {
        check(10, 101).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_set_forward_is_followed() {
        check(5000, 5000).await;
    }
}
