//! An estimate of a remote store's clock, from readings with a network delay.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use noetl_model::Timestamp;
use tokio::time::Instant;

use super::Clock;

/// The assumed clock drift: one part in this many.
const DRIFT_ONE_IN: u32 = 2000;

/// A time that a store answered with. The store read its clock between `asked` and `answered`.
#[derive(Debug, Clone, Copy)]
pub struct ClockReading {
    pub at: Timestamp,
    pub asked: Instant,
    pub answered: Instant,
}

/// An estimate of a store's clock: the best reading so far plus the time since then.
///
/// A reading is wrong by at most half of its round trip, and its error grows with age. A newer
/// reading replaces the estimate if it is at least as precise, or if the two contradict each other:
/// then the store's clock was set, or the store moved to another machine.
#[derive(Debug)]
pub struct RemoteClock {
    estimate: Mutex<Estimate>,
}

#[derive(Debug, Clone, Copy)]
struct Estimate {
    at: Timestamp,
    when: Instant,
    error: Duration,
}

impl Estimate {
    fn of(reading: ClockReading) -> Self {
        let error = reading.answered.saturating_duration_since(reading.asked) / 2;
        Self { at: reading.at, when: reading.asked + error, error }
    }

    /// Returns the store's time at a local instant.
    fn at(&self, moment: Instant) -> Timestamp {
        match moment.checked_duration_since(self.when) {
            Some(later) => self.at.after(later),
            None => earlier(self.at, self.when - moment),
        }
    }

    /// Returns the maximum error of the estimate at a local instant.
    fn error_at(&self, moment: Instant) -> Duration {
        self.error + moment.saturating_duration_since(self.when) / DRIFT_ONE_IN
    }

    fn is_replaced_by(&self, newer: &Estimate) -> bool {
        let (error, expected) = (self.error_at(newer.when), self.at(newer.when));
        let difference = newer.at.since(expected).max(expected.since(newer.at));
        newer.error <= error || difference > newer.error + error
    }
}

fn earlier(at: Timestamp, duration: Duration) -> Timestamp {
    let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.as_micros().saturating_sub(micros))
}

impl RemoteClock {
    pub fn new(first: ClockReading) -> Self {
        Self { estimate: Mutex::new(Estimate::of(first)) }
    }

    /// Adds a reading.
    pub fn observe(&self, reading: ClockReading) {
        let newer = Estimate::of(reading);
        let mut estimate = self.estimate();
        if estimate.is_replaced_by(&newer) {
            *estimate = newer;
        }
    }

    fn estimate(&self) -> MutexGuard<'_, Estimate> {
        self.estimate.lock().expect("nothing panics while it holds the estimate")
    }
}

impl Clock for RemoteClock {
    fn now(&self) -> Timestamp {
        self.estimate().at(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::given::{T0, at};

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Returns a reading with a round trip of `took` milliseconds.
    async fn reading(at: Timestamp, took: u64) -> ClockReading {
        let asked = Instant::now();
        tokio::time::advance(millis(took)).await;
        ClockReading { at, asked, answered: Instant::now() }
    }

    #[tokio::test(start_paused = true)]
    async fn time_goes_on_from_the_middle_of_a_reading() {
        let clock = RemoteClock::new(reading(T0, 10).await);
        assert_eq!(clock.now(), T0.after(millis(5)));
        tokio::time::advance(millis(1000)).await;
        assert_eq!(clock.now(), T0.after(millis(1005)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reading_that_took_long_does_not_replace_a_better_one() {
        let clock = RemoteClock::new(reading(T0, 10).await);
        // The store read its clock just before the answer arrived.
        let slow = reading(T0.after(millis(3000)), 3000).await;
        clock.observe(slow);
        assert_eq!(clock.now(), T0.after(millis(3005)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_better_reading_replaces_the_estimate() {
        let clock = RemoteClock::new(reading(T0, 3000).await);
        clock.observe(reading(T0.after(millis(3000)), 10).await);
        assert_eq!(clock.now(), T0.after(millis(3005)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_estimate_is_replaced_by_one_that_is_a_little_worse() {
        let clock = RemoteClock::new(reading(T0, 10).await);
        tokio::time::advance(Duration::from_secs(100)).await;
        // The clocks have drifted apart by 30 ms.
        clock.observe(reading(at(100).after(millis(40)), 20).await);
        assert_eq!(clock.now(), at(100).after(millis(50)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_whose_clock_is_set_is_followed_at_once_in_both_directions() {
        let clock = RemoteClock::new(reading(T0, 10).await);
        clock.observe(reading(at(7200), 400).await);
        assert_eq!(clock.now(), at(7200).after(millis(200)));
        clock.observe(reading(at(60), 400).await);
        assert_eq!(clock.now(), at(60).after(millis(200)));
    }
}
