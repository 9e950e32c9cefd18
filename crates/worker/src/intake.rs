//! Fetches the messages of one subscription from its source and submits them to the control plane.
//!
//! The control plane decides which messages are fetched, and returns the outcome of each message. A
//! message is acknowledged to its source only after its outcome is known, so after a crash the
//! message is delivered again and recognised as a duplicate.
//!
//! Invariants: no more messages are unanswered than the subscription allows; ordered messages are
//! submitted in the order they arrived.

mod bucket;
mod fetched_messages;

use std::sync::Arc;
use std::time::Duration;

use noetl_api::{Assignment, ControlError, FetchMode, FetchOrder, IntakeControl};
use noetl_model::{SubscriptionState, ToolError, WorkerId};
use noetl_tools::{PullSource, PullSources};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use bucket::Bucket;
use fetched_messages::FetchedMessages;

/// Interval at which the state of the subscription is read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest wait of one fetch; bounds the delay until a change of state is noticed.
const FETCH_WAIT_MAX: Duration = Duration::from_secs(1);
/// The most messages that one fetch asks for.
const FETCH_MAX: usize = 1000;
/// Timeout of giving up the right to an ordered subscription on exit.
const LEAVE_WAIT: Duration = Duration::from_secs(2);

/// The reason why a runtime has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntakeEnd {
    /// The runtime was told to stop.
    Stopped,
    /// The subscription is draining or deactivated.
    Over(SubscriptionState),
    /// The source was empty and the subscription is fetched only until then ([`FetchMode::UntilEmpty`]).
    Empty,
}

/// Fetches the messages of one subscription and submits them.
pub struct IntakeRuntime {
    pub control: Arc<dyn IntakeControl>,
    pub sources: Arc<dyn PullSources>,
    pub id: WorkerId,
    /// The path of the subscription.
    pub path: String,
}

/// The action that the state of a subscription calls for.
enum IntakeAction {
    Fetch,
    Wait,
    /// Settle the fetched messages and end.
    Finish(SubscriptionState),
}

fn next_action(assignment: &Assignment) -> IntakeAction {
    match assignment.state {
        SubscriptionState::Active => match assignment.line {
            FetchOrder::Any | FetchOrder::Assigned => IntakeAction::Fetch,
            FetchOrder::Waiting => IntakeAction::Wait,
        },
        SubscriptionState::Registered | SubscriptionState::Paused => IntakeAction::Wait,
        state @ (SubscriptionState::Draining | SubscriptionState::Deactivated) => {
            IntakeAction::Finish(state)
        }
    }
}

/// The reason why a source was closed.
enum CloseReason {
    End(IntakeEnd),
    /// The subscription has a new version, perhaps with another source.
    Changed,
    Broken(ToolError),
}

impl IntakeRuntime {
    /// Fetches until `stop`, or until the subscription ends or has no more messages to fetch.
    pub async fn run(&self, stop: CancellationToken) -> IntakeEnd {
        let mut backoff = Backoff::new();
        loop {
            let shut = tokio::select! {
                biased;
                () = stop.cancelled() => return IntakeEnd::Stopped,
                opened = self.open() => match opened {
                    Ok(OpenResult::Ready(assignment, source)) => {
                        backoff = Backoff::new();
                        let opening = SourceOpening::new(self, *assignment, source);
                        opening.work(&stop).await
                    }
                    Ok(OpenResult::Not(end)) => CloseReason::End(end),
                    Err(error) => {
                        tracing::warn!(error, path = self.path, "cannot open the message source; will retry");
                        tokio::select! {
                            () = backoff.wait() => {}
                            () = stop.cancelled() => return IntakeEnd::Stopped,
                        }
                        continue;
                    }
                },
            };
            match shut {
                CloseReason::End(end) => return end,
                CloseReason::Changed => {
                    tracing::info!(path = self.path, "the subscription has changed")
                }
                CloseReason::Broken(error) => {
                    let reason = error.to_string();
                    tracing::warn!(
                        reason,
                        path = self.path,
                        "the message source failed; will reopen it"
                    );
                    tokio::select! {
                        () = backoff.wait() => {}
                        () = stop.cancelled() => return IntakeEnd::Stopped,
                    }
                }
            }
        }
    }

    /// Waits until the subscription is to be fetched, and opens its source.
    async fn open(&self) -> Result<OpenResult, String> {
        loop {
            let assignment = self.control.attend(&self.id, &self.path).await;
            let assignment = assignment.map_err(|error| error.to_string())?;
            match next_action(&assignment) {
                IntakeAction::Finish(state) => return Ok(OpenResult::Not(IntakeEnd::Over(state))),
                IntakeAction::Wait => tokio::time::sleep(POLL_INTERVAL).await,
                IntakeAction::Fetch => {
                    let Assignment { subscription, source, settings, broker_url, .. } = &assignment;
                    let broker_url = broker_url.as_deref();
                    let opened =
                        self.sources.open(*subscription, source, settings, broker_url).await;
                    let source = opened.map_err(|error| error.to_string())?;
                    tracing::info!(path = self.path, "messages are fetched");
                    return Ok(OpenResult::Ready(Box::new(assignment), source));
                }
            }
        }
    }
}

enum OpenResult {
    Ready(Box<Assignment>, Arc<dyn PullSource>),
    Not(IntakeEnd),
}

/// An open source and the messages fetched from it.
struct SourceOpening<'a> {
    runtime: &'a IntakeRuntime,
    assignment: Assignment,
    looked: Instant,
    hand: FetchedMessages,
    bucket: Bucket,
}

impl<'a> SourceOpening<'a> {
    fn new(
        runtime: &'a IntakeRuntime,
        assignment: Assignment,
        source: Arc<dyn PullSource>,
    ) -> Self {
        let bucket = Bucket::new(assignment.per_second_max);
        Self {
            runtime,
            assignment,
            looked: Instant::now(),
            hand: FetchedMessages::new(source),
            bucket,
        }
    }

    async fn work(mut self, stop: &CancellationToken) -> CloseReason {
        let shut = self.until_shut(stop).await;
        self.hand.give_back().await;
        match self.assignment.line {
            FetchOrder::Assigned => {
                let left =
                    self.runtime.control.leave(&self.runtime.id, self.assignment.subscription);
                if !matches!(tokio::time::timeout(LEAVE_WAIT, left).await, Ok(Ok(()))) {
                    tracing::debug!(path = self.runtime.path, "the lock expires by itself");
                }
            }
            FetchOrder::Any | FetchOrder::Waiting => {}
        }
        shut
    }

    async fn until_shut(&mut self, stop: &CancellationToken) -> CloseReason {
        loop {
            if stop.is_cancelled() {
                return CloseReason::End(IntakeEnd::Stopped);
            }
            if let Some(shut) = self.look().await {
                return shut;
            }
            match next_action(&self.assignment) {
                IntakeAction::Fetch => match self.fetch(stop).await {
                    Ok(Some(end)) => return CloseReason::End(end),
                    Ok(None) => {}
                    Err(error) => return CloseReason::Broken(error),
                },
                IntakeAction::Wait if self.hand.is_empty() => self.rest(POLL_INTERVAL, stop).await,
                IntakeAction::Wait => self.rest(self.hand.pause(Instant::now()), stop).await,
                IntakeAction::Finish(state) if self.hand.is_empty() => {
                    return CloseReason::End(IntakeEnd::Over(state));
                }
                IntakeAction::Finish(SubscriptionState::Deactivated) => {
                    return CloseReason::End(IntakeEnd::Over(SubscriptionState::Deactivated));
                }
                IntakeAction::Finish(_) => self.rest(self.hand.pause(Instant::now()), stop).await,
            }
            self.hand_in(stop).await;
        }
    }

    /// Reads the state of the subscription if `POLL_INTERVAL` has passed since the last time.
    async fn look(&mut self) -> Option<CloseReason> {
        if self.looked.elapsed() < POLL_INTERVAL {
            return None;
        }
        match self.runtime.control.attend(&self.runtime.id, &self.runtime.path).await {
            Ok(now) => {
                let before = &self.assignment;
                if (now.version, now.subscription) != (before.version, before.subscription) {
                    return Some(CloseReason::Changed);
                }
                self.assignment = now;
                self.looked = Instant::now();
            }
            // Without the control plane no message can be submitted either, so the unanswered ones
            // fill up and fetching stops.
            Err(error) => tracing::debug!(%error, "the control plane does not answer"),
        }
        None
    }

    /// Fetches as many messages as the limits allow.
    async fn fetch(&mut self, stop: &CancellationToken) -> Result<Option<IntakeEnd>, ToolError> {
        let Assignment { batch, in_flight_max, wait_ms, pace, .. } = &self.assignment;
        let count = |number: &u32| usize::try_from(*number).unwrap_or(usize::MAX);
        let free = count(in_flight_max).saturating_sub(self.hand.len());
        let now = Instant::now();
        let room = count(batch).min(free).min(FETCH_MAX).min(self.bucket.room(now));
        let pause = self.hand.pause(now);
        if room == 0 {
            let until_token = self.bucket.wait(now);
            let rest = if self.hand.is_empty() { until_token } else { pause };
            self.rest(rest, stop).await;
            return Ok(None);
        }
        let wait = Duration::from_millis(*wait_ms).min(FETCH_WAIT_MAX);
        let wait = if self.hand.is_empty() { wait } else { pause };
        let fetched = self.hand.fetch(room, wait).await?;
        self.bucket.take(Instant::now(), fetched);
        let is_over = fetched == 0 && self.hand.is_empty() && *pace == FetchMode::UntilEmpty;
        Ok(is_over.then_some(IntakeEnd::Empty))
    }

    /// Submits the fetched messages.
    async fn hand_in(&mut self, stop: &CancellationToken) {
        if self.hand.is_empty() {
            return;
        }
        match self.hand.hand_in(self.runtime, &self.assignment).await {
            Ok(()) => {}
            Err(ControlError::Refused { reason }) => {
                tracing::warn!(reason, path = self.runtime.path, "messages were refused");
                self.hand.give_back().await;
                self.rest(POLL_INTERVAL, stop).await;
            }
            Err(error) => {
                tracing::warn!(%error, path = self.runtime.path, "cannot deliver fetched messages; will retry");
                self.rest(POLL_INTERVAL, stop).await;
            }
        }
    }

    async fn rest(&self, time: Duration, stop: &CancellationToken) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = stop.cancelled() => {}
        }
        self.hand.hold_if_due().await;
    }
}

#[cfg(test)]
mod tests;
