//! Wall clocks over the runtime's simulated time, each wrong by its own amount.

use noetl_model::Timestamp;
use noetl_store::Clock;
use tokio::time::Instant;

/// When every simulated world begins, in milliseconds since 1970.
const EPOCH_MS: i64 = 1_800_000_000_000;

#[derive(Debug, Clone, Copy)]
pub(crate) struct SimulatedClock {
    begun: Instant,
    skew_ms: i64,
}

impl SimulatedClock {
    /// The right time, as the store has it.
    pub(crate) fn right(begun: Instant) -> Self {
        Self { begun, skew_ms: 0 }
    }

    pub(crate) fn skewed(self, skew_ms: i64) -> Self {
        Self { skew_ms, ..self }
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(EPOCH_MS + self.skew_ms).after(self.begun.elapsed())
    }
}
