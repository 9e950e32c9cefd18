//! The skew between this machine's clock and the store's: measured periodically, with a warning if
//! large.
//!
//! No stored time depends on the machine's clock, but log files, certificates and message
//! signatures do, so the operator is warned.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_model::Timestamp;
use noetl_store::{Clock, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Control;
use crate::tasks::rest;

/// The interval between readings of the store's clock.
const READ_EVERY: Duration = Duration::from_secs(5);
/// The skew from which a warning is logged.
const WORTH_WARNING: Duration = Duration::from_secs(1);
/// The interval before the same warning is repeated.
const WARN_EVERY: Duration = Duration::from_secs(600);

/// The difference between this machine's clock and the store's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skew {
    Ahead(Duration),
    Behind(Duration),
}

impl Skew {
    /// Returns the skew of a machine that shows `machine` when the store shows `store`.
    pub fn between(machine: Timestamp, store: Timestamp) -> Self {
        if machine >= store {
            Skew::Ahead(machine.since(store))
        } else {
            Skew::Behind(store.since(machine))
        }
    }

    pub fn duration(self) -> Duration {
        match self {
            Skew::Ahead(duration) | Skew::Behind(duration) => duration,
        }
    }

    /// Returns the absolute skew in whole milliseconds.
    pub fn millis(self) -> u64 {
        u64::try_from(self.duration().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the skew in seconds; negative if the machine's clock is behind.
    pub fn seconds(self) -> f64 {
        match self {
            Skew::Ahead(duration) => duration.as_secs_f64(),
            Skew::Behind(duration) => -duration.as_secs_f64(),
        }
    }

    /// True if the skew requires a warning.
    pub fn is_large(self) -> bool {
        self.duration() >= WORTH_WARNING
    }
}

/// The last measured skew.
pub(crate) struct SkewGauge {
    machine: Arc<dyn Clock>,
    measured: Mutex<Measured>,
}

#[derive(Debug, Default)]
struct Measured {
    skew: Option<Skew>,
    /// The time and the skew of the last warning.
    warned: Option<(Instant, Skew)>,
}

impl SkewGauge {
    pub(crate) fn new(machine: Arc<dyn Clock>) -> Self {
        Self { machine, measured: Mutex::default() }
    }

    /// Measures the skew from the store's time. Returns it if a warning is due.
    fn measure(&self, store: Timestamp) -> Option<Skew> {
        let skew = Skew::between(self.machine.now(), store);
        let mut measured = self.measured();
        measured.skew = Some(skew);
        if !skew.is_large() {
            measured.warned = None;
            return None;
        }
        let now = Instant::now();
        let is_known = measured.warned.is_some_and(|(at, warned)| {
            let change = (skew.seconds() - warned.seconds()).abs();
            now.duration_since(at) < WARN_EVERY && change < WORTH_WARNING.as_secs_f64()
        });
        if is_known {
            return None;
        }
        measured.warned = Some((now, skew));
        Some(skew)
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().expect("nothing panics while it holds the measurement")
    }
}

impl Control {
    /// Returns the last measured skew of this machine's clock.
    pub fn clock_skew(&self) -> Option<Skew> {
        self.parts.skew.measured().skew
    }

    /// Reads the store's clock periodically until `stop`.
    pub(crate) async fn watch_clock(self, stop: CancellationToken) {
        loop {
            if let Err(error) = self.read_clock().await {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "cannot read the clock of the database"
                );
            }
            if !rest(&stop, READ_EVERY).await {
                return;
            }
        }
    }

    /// Reads the store's time and measures the skew.
    pub(crate) async fn read_clock(&self) -> Result<(), StoreError> {
        self.parts.store.time().await?;
        // The clock's estimate accounts for the round trip.
        if let Some(skew) = self.parts.skew.measure(self.parts.stamps.now()) {
            let (seconds, side) = match skew {
                Skew::Ahead(duration) => (duration.as_secs_f64(), "ahead of"),
                Skew::Behind(duration) => (duration.as_secs_f64(), "behind"),
            };
            tracing::warn!(
                skew_seconds = skew.seconds(),
                "this machine's clock is {seconds:.1} s {side} the database's; timers and event \
                 times use the database's. Check the time synchronization of both machines"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Timestamp);

    impl Clock for Fixed {
        fn now(&self) -> Timestamp {
            self.0
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + millis)
    }

    /// Measures store times `seconds` apart and checks which of them cause a warning.
    async fn check(seconds: u64, store: &[i64], expected: &[bool]) {
        let gauge = SkewGauge::new(Arc::new(Fixed(at(0))));
        let mut warned = Vec::new();
        for millis in store {
            warned.push(gauge.measure(at(*millis)).is_some());
            tokio::time::advance(Duration::from_secs(seconds)).await;
        }
        assert_eq!(warned, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_skew_is_warned_of_at_once_and_again_after_a_while() {
        check(5, &[-7_200_000, -7_200_000, -7_200_000], &[true, false, false]).await;
        check(400, &[-7_200_000, -7_200_000, -7_200_000], &[true, false, true]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_skew_that_changes_is_warned_of_anew() {
        check(5, &[2_000, 2_100, -7_200_000], &[true, false, true]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_small_skew_is_not_warned_of() {
        check(5, &[900, -900], &[false, false]).await;
        let gauge = SkewGauge::new(Arc::new(Fixed(at(0))));
        gauge.measure(at(900));
        assert_eq!(gauge.measured().skew, Some(Skew::Behind(Duration::from_millis(900))));
    }
}
