//! Exponential backoff with jitter between retries.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

const DELAY_MIN: Duration = Duration::from_millis(50);
const DELAY_MAX: Duration = Duration::from_secs(5);

/// Delays that double up to a limit, without end.
#[derive(Debug)]
pub(crate) struct Backoff {
    delays: ExponentialBackoff,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        let delays = ExponentialBuilder::new()
            .with_min_delay(DELAY_MIN)
            .with_max_delay(DELAY_MAX)
            .without_max_times()
            .with_jitter();
        Self { delays: delays.build() }
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(self.delays.next().unwrap_or(DELAY_MAX)).await;
    }
}
