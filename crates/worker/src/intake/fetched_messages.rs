//! The fetched messages of a subscription that have no final outcome yet.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use noetl_api::{Assignment, ControlError, FetchOrder};
use noetl_model::{MessageOutcome, ToolError};
use noetl_tools::{FetchedMessage, PullSource, Receipt};
use tokio::time::Instant;

use super::IntakeRuntime;

/// The most messages submitted in one call where messages are ordered.
const ORDERED_CHUNK: usize = 200;
/// The most concurrent calls where messages are not ordered.
const CALLS_MAX: usize = 16;
/// The number of extensions sent to the source per redelivery timeout ([`PullSource::ack_wait`]).
const EXTENSIONS_PER_ACK_WAIT: u32 = 3;
/// The longest pause before waiting messages are submitted again.
const PAUSE_MAX: Duration = Duration::from_secs(1);

pub(super) struct FetchedMessages {
    source: Arc<dyn PullSource>,
    /// The messages in the order they arrived.
    messages: Vec<FetchedMessage>,
    /// The time at which waiting messages are submitted again.
    again_at: Instant,
    held_at: Mutex<Instant>,
}

impl FetchedMessages {
    pub(super) fn new(source: Arc<dyn PullSource>) -> Self {
        let now = Instant::now();
        Self { source, messages: Vec::new(), again_at: now, held_at: Mutex::new(now) }
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the time until waiting messages are submitted again, at most `PAUSE_MAX`.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        self.again_at.saturating_duration_since(now).min(PAUSE_MAX)
    }

    /// Fetches messages; returns how many came.
    pub(super) async fn fetch(&mut self, max: usize, wait: Duration) -> Result<usize, ToolError> {
        let fetched = self.source.fetch(max, wait).await?;
        let count = fetched.len();
        self.messages.extend(fetched);
        Ok(count)
    }

    /// Submits all messages and settles each with the source. Messages without a final outcome are
    /// kept.
    pub(super) async fn hand_in(
        &mut self,
        runtime: &IntakeRuntime,
        assignment: &Assignment,
    ) -> Result<(), ControlError> {
        let (chunk, calls) = match assignment.line {
            FetchOrder::Any => (usize::try_from(assignment.chunk).unwrap_or(1).max(1), CALLS_MAX),
            FetchOrder::Assigned | FetchOrder::Waiting => (ORDERED_CHUNK, 1),
        };
        let chunks: Vec<Vec<FetchedMessage>> =
            self.messages.chunks(chunk).map(<[FetchedMessage]>::to_vec).collect();
        let asking = futures::stream::iter(chunks).map(|chunk| async move {
            let arrivals = chunk.iter().map(|it| it.arrival.clone()).collect();
            let taken =
                runtime.control.take(&runtime.id, assignment.subscription, arrivals).await?;
            if taken.len() != chunk.len() {
                let reason = format!("{} verdicts for {} messages", taken.len(), chunk.len());
                return Err(ControlError::Refused { reason });
            }
            Ok(chunk.into_iter().zip(taken).collect::<Vec<_>>())
        });
        let mut asking = asking.buffered(calls);
        let mut failure = None;
        let mut kept: Vec<FetchedMessage> = Vec::new();
        let mut answered = 0;
        let mut soonest = None;
        loop {
            let next = tokio::select! {
                next = asking.try_next() => next,
                () = self.hold_when_due() => continue,
            };
            let judged = match next {
                Ok(Some(judged)) => judged,
                Ok(None) => break,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            };
            answered += judged.len();
            for (fetched, verdict) in judged {
                if let Some(after) = self.settle(&fetched.receipt, verdict, assignment.line).await {
                    soonest = Some(soonest.map_or(after, |soonest: Duration| soonest.min(after)));
                    kept.push(fetched);
                }
            }
        }
        drop(asking);
        kept.extend(self.messages.drain(..).skip(answered));
        self.messages = kept;
        self.again_at = Instant::now() + soonest.unwrap_or_default();
        failure.map_or(Ok(()), Err)
    }

    /// Settles a message with its source according to its outcome. Returns the delay until the
    /// message is submitted again if it has to be kept. If the source does not confirm, it delivers
    /// the message again, as a duplicate.
    async fn settle(
        &self,
        receipt: &Receipt,
        verdict: MessageOutcome,
        line: FetchOrder,
    ) -> Option<Duration> {
        let told = match verdict {
            MessageOutcome::Started { .. }
            | MessageOutcome::Duplicate { .. }
            | MessageOutcome::Signalled => self.source.ack(receipt).await,
            MessageOutcome::Dead { reason } => {
                tracing::warn!(reason, "a message is dead");
                self.source.terminate(receipt).await
            }
            MessageOutcome::Later { reason: _, after_ms } => {
                let after = Duration::from_millis(after_ms);
                match line {
                    FetchOrder::Any => self.source.nak(receipt, after).await,
                    // Later messages of the same ordering key must not overtake this one.
                    FetchOrder::Assigned | FetchOrder::Waiting => return Some(after),
                }
            }
        };
        if let Err(error) = told {
            tracing::debug!(%error, "cannot acknowledge to the message source");
        }
        None
    }

    /// Returns all messages to the source, so that other runtimes can fetch them.
    pub(super) async fn give_back(&mut self) {
        for fetched in self.messages.drain(..) {
            if let Err(error) = self.source.nak(&fetched.receipt, Duration::ZERO).await {
                tracing::debug!(%error, "cannot acknowledge to the message source");
            }
        }
    }

    fn hold_at(&self) -> Instant {
        let held_at = *self.held_at.lock().expect("nothing panics while it holds the time");
        held_at + self.source.ack_wait() / EXTENSIONS_PER_ACK_WAIT
    }

    /// Extends the redelivery timeout of all messages at the source, if an extension is due.
    pub(super) async fn hold_if_due(&self) {
        if Instant::now() < self.hold_at() {
            return;
        }
        *self.held_at.lock().expect("nothing panics while it holds the time") = Instant::now();
        for fetched in &self.messages {
            if let Err(error) = self.source.in_progress(&fetched.receipt).await {
                tracing::debug!(%error, "cannot acknowledge to the message source");
            }
        }
    }

    async fn hold_when_due(&self) {
        tokio::time::sleep_until(self.hold_at()).await;
        self.hold_if_due().await;
    }
}
