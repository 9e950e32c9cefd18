//! Wall clocks over the runtime's simulated time: the store's, which can be set, and those of
//! machines, each wrong by its own amount.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use noetl_model::Timestamp;
use noetl_store::Clock;
use tokio::time::Instant;

/// The start of every simulated world, in milliseconds since 1970.
const EPOCH_MS: i64 = 1_800_000_000_000;

/// A clock that can be set. Clones share the setting.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedClock {
    begun: Instant,
    skew_ms: Arc<AtomicI64>,
}

impl SimulatedClock {
    /// Returns a clock with the right time.
    pub(crate) fn right(begun: Instant) -> Self {
        Self { begun, skew_ms: Arc::default() }
    }

    /// Returns a separate clock that is wrong by some milliseconds.
    pub(crate) fn skewed(&self, skew_ms: i64) -> Self {
        Self { begun: self.begun, skew_ms: Arc::new(AtomicI64::new(skew_ms)) }
    }

    /// Sets the clock to some milliseconds after the right time.
    pub(crate) fn set(&self, skew_ms: i64) {
        self.skew_ms.store(skew_ms, Ordering::Relaxed);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        let skew_ms = self.skew_ms.load(Ordering::Relaxed);
        Timestamp::from_millis(EPOCH_MS + skew_ms).after(self.begun.elapsed())
    }
}
