//! Exponential backoff between retries.

use std::time::Duration;

const DELAY_MIN: Duration = Duration::from_millis(50);
const DELAY_MAX: Duration = Duration::from_secs(5);

/// Delays that double up to a limit.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { next: DELAY_MIN }
    }

    pub(crate) async fn wait(&mut self) {
        let delay = self.next;
        self.next = (delay * 2).min(DELAY_MAX);
        tokio::time::sleep(delay).await;
    }
}
