//! Fetches the messages of one subscription from its source and submits them to the control plane.
//!
//! The control plane says what to fetch and returns a verdict for each message. A message is
//! acknowledged to its source only after its verdict, so after any crash it is delivered again and
//! recognised as a duplicate.
//!
//! Invariants: no more messages are unanswered than the subscription allows; ordered messages are
//! submitted in the order they arrived.

mod bucket;
mod hand;

use std::sync::Arc;
use std::time::Duration;

use noetl_api::{Assignment, ControlError, IntakeControl, Line, Pace};
use noetl_model::{SubscriptionState, ToolError, WorkerId};
use noetl_tools::{PullSource, PullSources};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use bucket::Bucket;
use hand::Hand;

/// Interval at which the state of the subscription is read.
const LOOK_EVERY: Duration = Duration::from_secs(1);
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
    /// The source was empty and the subscription is fetched only until then ([`Pace::UntilEmpty`]).
    Empty,
}

/// Fetches the messages of one subscription and submits them.
pub struct IntakeRuntime {
    pub desk: Arc<dyn IntakeControl>,
    pub sources: Arc<dyn PullSources>,
    pub id: WorkerId,
    /// The path of the subscription.
    pub path: String,
}

/// The action that the state of a subscription calls for.
enum Duty {
    Fetch,
    Wait,
    /// Settle the fetched messages and end.
    Finish(SubscriptionState),
}

fn duty(assignment: &Assignment) -> Duty {
    match assignment.state {
        SubscriptionState::Active => match assignment.line {
            Line::Free | Line::Mine => Duty::Fetch,
            Line::Anothers => Duty::Wait,
        },
        SubscriptionState::Registered | SubscriptionState::Paused => Duty::Wait,
        state @ (SubscriptionState::Draining | SubscriptionState::Deactivated) => {
            Duty::Finish(state)
        }
    }
}

/// The reason why a source was closed.
enum Shut {
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
                        let opening = Opening::new(self, *assignment, source);
                        opening.work(&stop).await
                    }
                    Ok(OpenResult::Not(end)) => Shut::End(end),
                    Err(error) => {
                        tracing::warn!(error, path = self.path, "no source yet, will try again");
                        tokio::select! {
                            () = backoff.wait() => {}
                            () = stop.cancelled() => return IntakeEnd::Stopped,
                        }
                        continue;
                    }
                },
            };
            match shut {
                Shut::End(end) => return end,
                Shut::Changed => tracing::info!(path = self.path, "the subscription has changed"),
                Shut::Broken(error) => {
                    let reason = error.to_string();
                    tracing::warn!(
                        reason,
                        path = self.path,
                        "the source failed, will open it again"
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
            let assignment = self.desk.attend(&self.id, &self.path).await;
            let assignment = assignment.map_err(|error| error.to_string())?;
            match duty(&assignment) {
                Duty::Finish(state) => return Ok(OpenResult::Not(IntakeEnd::Over(state))),
                Duty::Wait => tokio::time::sleep(LOOK_EVERY).await,
                Duty::Fetch => {
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
struct Opening<'a> {
    runtime: &'a IntakeRuntime,
    assignment: Assignment,
    looked: Instant,
    hand: Hand,
    bucket: Bucket,
}

impl<'a> Opening<'a> {
    fn new(
        runtime: &'a IntakeRuntime,
        assignment: Assignment,
        source: Arc<dyn PullSource>,
    ) -> Self {
        let bucket = Bucket::new(assignment.per_second_max);
        Self { runtime, assignment, looked: Instant::now(), hand: Hand::new(source), bucket }
    }

    async fn work(mut self, stop: &CancellationToken) -> Shut {
        let shut = self.until_shut(stop).await;
        self.hand.give_back().await;
        match self.assignment.line {
            Line::Mine => {
                let left = self.runtime.desk.leave(&self.runtime.id, self.assignment.subscription);
                if !matches!(tokio::time::timeout(LEAVE_WAIT, left).await, Ok(Ok(()))) {
                    tracing::debug!(path = self.runtime.path, "the turn runs out by itself");
                }
            }
            Line::Free | Line::Anothers => {}
        }
        shut
    }

    async fn until_shut(&mut self, stop: &CancellationToken) -> Shut {
        loop {
            if stop.is_cancelled() {
                return Shut::End(IntakeEnd::Stopped);
            }
            if let Some(shut) = self.look().await {
                return shut;
            }
            match duty(&self.assignment) {
                Duty::Fetch => match self.fetch(stop).await {
                    Ok(Some(end)) => return Shut::End(end),
                    Ok(None) => {}
                    Err(error) => return Shut::Broken(error),
                },
                Duty::Wait if self.hand.is_empty() => self.rest(LOOK_EVERY, stop).await,
                Duty::Wait => self.rest(self.hand.pause(Instant::now()), stop).await,
                Duty::Finish(state) if self.hand.is_empty() => {
                    return Shut::End(IntakeEnd::Over(state));
                }
                Duty::Finish(SubscriptionState::Deactivated) => {
                    return Shut::End(IntakeEnd::Over(SubscriptionState::Deactivated));
                }
                Duty::Finish(_) => self.rest(self.hand.pause(Instant::now()), stop).await,
            }
            self.hand_in(stop).await;
        }
    }

    /// Reads the state of the subscription if `LOOK_EVERY` has passed since the last time.
    async fn look(&mut self) -> Option<Shut> {
        if self.looked.elapsed() < LOOK_EVERY {
            return None;
        }
        match self.runtime.desk.attend(&self.runtime.id, &self.runtime.path).await {
            Ok(now) => {
                let before = &self.assignment;
                if (now.version, now.subscription) != (before.version, before.subscription) {
                    return Some(Shut::Changed);
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
        let is_over = fetched == 0 && self.hand.is_empty() && *pace == Pace::UntilEmpty;
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
                self.rest(LOOK_EVERY, stop).await;
            }
            Err(error) => {
                tracing::warn!(%error, path = self.runtime.path, "messages not handed in yet");
                self.rest(LOOK_EVERY, stop).await;
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
