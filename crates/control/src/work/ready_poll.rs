//! Polling of a pool for ready commands, only when something may have changed.
//!
//! Invariant: a poll state has been subscribed to hints since before its last poll, so the worker
//! that takes it over knows if another poll could find anything.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use futures::future::FutureExt as _;
use noetl_bus::{Hint, HintReceiver};
use noetl_model::Pool;
use tokio::time::Instant;

/// The poll state of a pool.
#[derive(Debug)]
pub(crate) struct ReadyPoll {
    pool: Pool,
    hints: HintReceiver,
    /// The time of the next poll if no hint arrives.
    due_at: Instant,
}

impl ReadyPoll {
    /// Creates a poll state that is due at once.
    pub(crate) fn new(pool: &Pool, hints: HintReceiver) -> Self {
        Self { pool: pool.clone(), hints, due_at: Instant::now() }
    }

    /// True if a poll could find commands. Consumes all pending hints, which one poll covers.
    pub(crate) fn is_due(&mut self) -> bool {
        while let Some(hint) = self.hints.next().now_or_never() {
            if concerns(&hint, &self.pool) {
                self.due_at = Instant::now();
            }
        }
        Instant::now() >= self.due_at
    }

    /// Sets the time of the next poll after one that found nothing.
    pub(crate) fn rest_until(&mut self, due_at: Instant) {
        self.due_at = due_at;
    }

    /// Waits until a poll could find commands.
    pub(crate) async fn due(&mut self) {
        loop {
            tokio::select! {
                biased;
                hint = self.hints.next() => {
                    if concerns(&hint, &self.pool) {
                        self.due_at = Instant::now();
                        return;
                    }
                }
                () = tokio::time::sleep_until(self.due_at) => return,
            }
        }
    }
}

fn concerns(hint: &Hint, pool: &Pool) -> bool {
    match hint {
        Hint::CommandReady { pool: hinted } => hinted == pool,
        Hint::LookAgain => true,
        Hint::CommandCancelled { .. } | Hint::ExecutionAdvanced { .. } => false,
    }
}

/// Poll states of workers that got a command and have not returned yet.
#[derive(Debug, Default)]
pub(crate) struct ReadyPolls {
    kept: Mutex<BTreeMap<Pool, ReadyPoll>>,
}

impl ReadyPolls {
    /// Takes the poll state left for a pool.
    pub(crate) fn take(&self, pool: &Pool) -> Option<ReadyPoll> {
        self.kept().remove(pool)
    }

    /// Leaves a poll state for the next worker that waits in its pool.
    pub(crate) fn leave(&self, poll: ReadyPoll) {
        let now = Instant::now();
        let mut kept = self.kept();
        kept.retain(|_, poll| poll.due_at > now);
        kept.insert(poll.pool.clone(), poll);
    }

    /// Drops all poll states after a change that causes no hint.
    pub(crate) fn clear(&self) {
        self.kept().clear();
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<Pool, ReadyPoll>> {
        self.kept.lock().expect("nothing panics while it holds the ready_polls")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use noetl_bus::{Bus as _, LocalBus};

    use super::*;

    /// Checks if a poll state that has just found nothing is due after a hint.
    async fn check(hint: Option<Hint>, expected: bool) {
        let bus = LocalBus::new();
        let mut poll = ReadyPoll::new(&Pool::shared(), bus.subscribe());
        assert!(poll.is_due(), "it has not looked yet");
        poll.rest_until(Instant::now() + Duration::from_secs(1));
        let ready_polls = ReadyPolls::default();
        ready_polls.leave(poll);
        if let Some(hint) = hint {
            bus.publish(hint).await;
        }
        let mut poll = ready_polls.take(&Pool::shared()).expect("it was left");
        assert_eq!(poll.is_due(), expected);
        poll.due().await;
        assert!(poll.is_due());
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_that_found_nothing_rests_until_it_is_time() {
        check(None, false).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_hint_about_its_pool_makes_a_poll_due() {
        check(Some(Hint::CommandReady { pool: Pool::shared() }), true).await;
        check(Some(Hint::LookAgain), true).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_hint_about_another_pool_does_not() {
        check(Some(Hint::CommandReady { pool: Pool::control() }), false).await;
    }
}
