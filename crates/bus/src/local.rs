//! A bus inside one process.

use std::future::pending;

use async_trait::async_trait;
use tokio::sync::broadcast::{Receiver, Sender, error::RecvError};

use crate::{Bus, Hint};

/// The number of hints buffered for a slow listener; beyond that it gets [`Hint::LookAgain`].
pub const HINTS_MAX: usize = 1024;

/// A bus inside one process.
#[derive(Debug, Clone)]
pub struct LocalBus {
    hints: Sender<Hint>,
}

impl LocalBus {
    pub fn new() -> Self {
        Self { hints: Sender::new(HINTS_MAX) }
    }
}

impl Default for LocalBus {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Bus for LocalBus {
    async fn publish(&self, hint: Hint) {
        // The only error is that there is no listener.
        let _unheard = self.hints.send(hint);
    }

    fn subscribe(&self) -> HintReceiver {
        HintReceiver { hints: self.hints.subscribe() }
    }
}

/// The receiving end of a bus.
#[derive(Debug)]
pub struct HintReceiver {
    hints: Receiver<Hint>,
}

impl HintReceiver {
    /// Waits for the next hint. Returns [`Hint::LookAgain`] in place of hints that were dropped,
    /// and waits for ever once the bus is gone. Cancelling the wait loses no hint.
    pub async fn next(&mut self) -> Hint {
        match self.hints.recv().await {
            Ok(hint) => hint,
            Err(RecvError::Lagged(_)) => Hint::LookAgain,
            Err(RecvError::Closed) => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use noetl_model::{ExecutionId, Pool};

    use super::*;

    fn advanced(n: usize) -> Hint {
        Hint::ExecutionAdvanced { execution: ExecutionId(i64::try_from(n).unwrap()) }
    }

    /// Publishes `count` hints before any read, then reads `reads` times.
    fn check(count: usize, reads: usize, expected: &[Option<Hint>]) {
        let bus = LocalBus::new();
        let mut receiver = bus.subscribe();
        for n in 0..count {
            bus.publish(advanced(n)).now_or_never().expect("publishing never waits");
        }
        let heard: Vec<_> = (0..reads).map(|_| receiver.next().now_or_never()).collect();
        assert_eq!(heard, expected);
    }

    #[test]
    fn hints_arrive_in_order_and_then_the_listener_waits() {
        check(2, 3, &[Some(advanced(0)), Some(advanced(1)), None]);
    }

    #[test]
    fn a_slow_listener_looks_again_and_goes_on_with_the_oldest_hint_kept() {
        check(HINTS_MAX + 3, 2, &[Some(Hint::LookAgain), Some(advanced(3))]);
    }

    #[test]
    fn every_listener_receives_a_hint() {
        let bus = LocalBus::new();
        let (mut first, mut second) = (bus.subscribe(), bus.clone().subscribe());
        let hint = Hint::CommandReady { pool: Pool::shared() };
        bus.publish(hint.clone()).now_or_never().expect("publishing never waits");
        assert_eq!(first.next().now_or_never(), Some(hint.clone()));
        assert_eq!(second.next().now_or_never(), Some(hint));
    }

    #[test]
    fn a_hint_nobody_listens_to_is_lost_without_harm() {
        let bus = LocalBus::new();
        bus.publish(Hint::LookAgain).now_or_never().expect("publishing never waits");
        assert_eq!(bus.subscribe().next().now_or_never(), None);
    }

    #[test]
    fn a_bus_that_is_gone_gives_no_hints() {
        let mut receiver = LocalBus::new().subscribe();
        assert_eq!(receiver.next().now_or_never(), None);
    }
}
