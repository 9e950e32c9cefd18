//! Waiting for the end of an execution: woken by the commit of this process or, if other servers write to
//! the store too, by their hints and by a slow poll in case a hint was lost.

use std::sync::Arc;
use std::time::Duration;

use noetl_bus::{Hint, Reach};
use noetl_model::{ExecutionId, Recorded, Seq};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::follow::FollowProgress;
use crate::{Control, LoadError};

/// The first and the longest interval at which the store is asked for an end that another server may
/// have committed.
const END_POLL_FIRST: Duration = Duration::from_millis(200);
const END_POLL_MAX: Duration = Duration::from_secs(2);

/// Waits for the end of one execution. Holds nothing but its entry among the followers.
struct EndWatch<'a> {
    control: &'a Control,
    execution: ExecutionId,
    progress: watch::Receiver<FollowProgress>,
}

impl Drop for EndWatch<'_> {
    fn drop(&mut self) {
        self.control.parts.followers.unwatch(self.execution);
    }
}

impl EndWatch<'_> {
    /// Returns the terminal event, from the commit or from the store.
    async fn ended(&mut self) -> Result<Arc<Recorded>, LoadError> {
        let mut poll = END_POLL_FIRST;
        let is_shared = self.control.parts.store.is_shared();
        // An execution that this process has just started is known not to have ended.
        let mut asks = self.control.ended_here(self.execution) != Some(false);
        loop {
            if asks && let Some(end) = self.control.stored_end(self.execution).await? {
                return Ok(Arc::new(end));
            }
            asks = tokio::select! {
                biased;
                changed = self.progress.changed() => {
                    changed.expect("the sender stays while somebody follows");
                    match self.progress.borrow_and_update().clone() {
                        FollowProgress::Ended(end) => return Ok(end),
                        FollowProgress::EndedElsewhere => true,
                        FollowProgress::Unknown | FollowProgress::Advanced => false,
                    }
                }
                () = tokio::time::sleep(poll), if is_shared => {
                    poll = (poll * 2).min(END_POLL_MAX);
                    true
                }
            };
        }
    }
}

impl Control {
    /// Waits until an execution has ended and returns its terminal event; `None` at `until`. Cancel
    /// safe.
    pub async fn ended(
        &self,
        execution: ExecutionId,
        until: Instant,
    ) -> Result<Option<Arc<Recorded>>, LoadError> {
        let progress = self.parts.followers.watch(execution);
        let mut watch = EndWatch { control: self, execution, progress };
        match tokio::time::timeout_at(until, watch.ended()).await {
            Ok(ended) => ended.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// True if the state that this process holds has ended; `None` if it holds none.
    fn ended_here(&self, execution: ExecutionId) -> Option<bool> {
        self.parts.states.get(execution).map(|state| state.status().is_terminal())
    }

    /// Reads the terminal event of an execution from the store.
    async fn stored_end(&self, execution: ExecutionId) -> Result<Option<Recorded>, LoadError> {
        let summary = self.parts.store.summary(execution).await;
        let summary = summary.map_err(|error| LoadError::of_store(execution, error))?;
        let summary = summary.ok_or(LoadError::NotFound(execution))?;
        if !summary.status.is_terminal() {
            return Ok(None);
        }
        // Events that change nothing may follow the end.
        let mut before = summary.seq.0;
        loop {
            let after = before.saturating_sub(END_PAGE);
            let page = self.read_page(execution, Seq(after)).await?;
            let end = page.into_iter().rev().find(|recorded| recorded.event.ends_execution());
            if end.is_some() || after == 0 {
                return Ok(end);
            }
            before = after;
        }
    }

    /// Notifies waiters of ends that other servers have committed, until `stop`.
    pub(crate) async fn hear_ends(self, stop: CancellationToken) {
        let mut hints = self.parts.bus.subscribe();
        loop {
            let hint = tokio::select! {
                hint = hints.next() => hint,
                () = stop.cancelled() => return,
            };
            match hint {
                Hint::ExecutionAdvanced { execution } => {
                    self.parts.followers.ended_elsewhere(execution);
                }
                Hint::CommandReady { .. } | Hint::CommandCancelled { .. } | Hint::LookAgain => {}
            }
        }
    }

    /// True if other servers may wait for the end of an execution of this one.
    pub(crate) fn has_others(&self) -> bool {
        match self.parts.bus.reach() {
            Reach::Connected => true,
            Reach::Process | Reach::Disconnected => false,
        }
    }
}

/// The number of events read at once to find the terminal one.
const END_PAGE: u64 = 16;
