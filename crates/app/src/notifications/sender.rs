//! The loop that sends notifications from the outbox.
//!
//! Invariants: a receiver that is slow or down delays no other; every attempt has a deadline; the
//! attempts of a message that fails are spread by backoff and jitter until it is dead.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use noetl_model::{Message, NoticeKind};
use noetl_store::{AttemptOutcome, Failure, OutboxConsumer, OutboxRow, StoreError, Take, backoff};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::send::Notice;
use super::{NoticeFailure, NoticeFailureKind, NoticeOutcome, NoticeTransport};
use crate::app::App;

/// Maximum number of notifications that are sent at the same time.
const AT_ONCE_MAX: usize = 32;
/// Maximum number of them to one receiver.
const AT_ONCE_PER_RECEIVER_MAX: usize = 4;
/// Deadline of one attempt.
const DEADLINE: Duration = Duration::from_secs(15);
/// Time after which a notification of a dead sender is taken again.
const HOLD: Duration = Duration::from_secs(60);
/// Interval of checks for due notifications without a hint.
const POLL: Duration = Duration::from_secs(1);
/// Minimum time between two reads of the outbox.
const PACE: Duration = Duration::from_millis(50);
/// Delay of a notification whose receiver is busy with others.
const BUSY_DELAY: Duration = Duration::from_secs(5);
/// Maximum delay between two attempts.
const RETRY_MAX: Duration = Duration::from_secs(256);
/// Time for which an unreachable receiver is not tried, at most.
const AVOID_MAX: Duration = Duration::from_secs(60);
/// Maximum number of receivers whose state is remembered.
const RECEIVERS_MAX: usize = 10_000;

/// Sends notifications until `stop`.
pub async fn send_notifications(
    app: App,
    transport: Arc<dyn NoticeTransport>,
    stop: CancellationToken,
) {
    let mut sender =
        NoticeSender { app, transport, running: JoinSet::new(), receivers: HashMap::new() };
    loop {
        let pause = match sender.send_due().await {
            Ok(0) => POLL,
            Ok(_) => PACE,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot read pending notifications; will retry"
                );
                POLL
            }
        };
        let app = sender.app.clone();
        let is_full = sender.running.len() >= AT_ONCE_MAX;
        tokio::select! {
            () = stop.cancelled() => break,
            Some(ended) = sender.running.join_next() => sender.ended(ended).await,
            () = app.control().notification_requested(), if !is_full && pause == POLL => {}
            () = tokio::time::sleep(pause), if !is_full => {}
        }
    }
    // A message that is not marked as sent by now is sent again, under the same id.
    let _ = tokio::time::timeout(DEADLINE, sender.drain()).await;
}

/// The result of an attempt.
struct EndedAttempt {
    row: OutboxRow,
    receiver: String,
    kind: NoticeKind,
    sent: Result<(), NoticeFailure>,
}

/// The state of a receiver, as its last attempts have shown it.
#[derive(Debug, Default)]
struct ReceiverState {
    running: usize,
    /// The number of attempts in a row that got no answer.
    failures: u32,
    /// The receiver is not tried before this time.
    avoided: Option<Instant>,
}

struct NoticeSender {
    app: App,
    transport: Arc<dyn NoticeTransport>,
    running: JoinSet<EndedAttempt>,
    receivers: HashMap<String, ReceiverState>,
}

impl NoticeSender {
    /// Takes due notifications and begins to send them; returns their number.
    async fn send_due(&mut self) -> Result<usize, StoreError> {
        let limit = AT_ONCE_MAX.saturating_sub(self.running.len());
        if limit == 0 {
            return Ok(0);
        }
        let take = Take { consumer: OutboxConsumer::Notifier, limit, hold: HOLD };
        let rows = self.app.store().take(take).await?;
        let count = rows.len();
        let mut busy = Vec::new();
        let mut avoided: HashMap<Instant, Vec<i64>> = HashMap::new();
        for row in rows {
            let Message::Notification { target, .. } = &row.message else { continue };
            let (receiver, kind) = (target.receiver(), target.kind());
            let state = self.receivers.entry(receiver.clone()).or_default();
            if let Some(until) = state.avoided
                && Instant::now() < until
            {
                // Nobody has tried to reach the receiver, so this is no attempt.
                avoided.entry(until).or_default().push(row.id);
            } else if state.running >= AT_ONCE_PER_RECEIVER_MAX {
                busy.push(row.id);
            } else {
                state.running += 1;
                self.begin(row, receiver, kind);
            }
        }
        if !busy.is_empty() {
            self.app.store().postpone(&busy, BUSY_DELAY).await?;
        }
        for (until, ids) in avoided {
            let delay = until.saturating_duration_since(Instant::now());
            self.app.store().postpone(&ids, delay.max(PACE)).await?;
        }
        Ok(count)
    }

    fn begin(&mut self, row: OutboxRow, receiver: String, kind: NoticeKind) {
        let (app, transport) = (self.app.clone(), Arc::clone(&self.transport));
        self.running.spawn(async move {
            // A panic ends this attempt, and must not leave its receiver busy for ever.
            let attempt = AssertUnwindSafe(attempt(&app, &*transport, &row)).catch_unwind();
            let sent = match tokio::time::timeout(DEADLINE, attempt).await {
                Ok(Ok(sent)) => sent,
                Ok(Err(_)) => {
                    tracing::error!(id = row.id, receiver, "sending a notification panicked");
                    Err(NoticeFailure::temporary("sending the notification panicked".to_owned()))
                }
                Err(_) => Err(NoticeFailure::unreachable(format!(
                    "{receiver} has not answered within {} s",
                    DEADLINE.as_secs()
                ))),
            };
            EndedAttempt { row, receiver, kind, sent }
        });
    }

    async fn ended(&mut self, ended: Result<EndedAttempt, tokio::task::JoinError>) {
        let EndedAttempt { row, receiver, kind, sent } = match ended {
            Ok(ended) => ended,
            Err(error) => {
                // No attempt is cancelled, and a panic is caught.
                tracing::error!(%error, "an attempt to send a notification is lost");
                return;
            }
        };
        self.learn(&receiver, &sent);
        let settled = match sent {
            Ok(()) => {
                self.app.notice_counters().count(kind, NoticeOutcome::Sent);
                tracing::info!(execution = %row.execution, receiver, "notification sent");
                self.app.store().sent(&[row.id]).await.map(|_| ())
            }
            Err(failure) => self.failed(&row, kind, failure).await,
        };
        if let Err(error) = settled {
            // The message is taken again after its hold, and sent under the same id.
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                id = row.id,
                "cannot mark a notification as sent; it may be sent twice"
            );
        }
    }

    /// Notes whether a receiver answers. One that does not is avoided for a while, so that many
    /// messages to it do not keep the others waiting.
    fn learn(&mut self, receiver: &str, sent: &Result<(), NoticeFailure>) {
        if self.receivers.len() > RECEIVERS_MAX {
            self.receivers.retain(|_, state| state.running > 0);
        }
        let state = self.receivers.entry(receiver.to_owned()).or_default();
        state.running = state.running.saturating_sub(1);
        match sent {
            Err(NoticeFailure { reason: _, kind: NoticeFailureKind::Unreachable }) => {
                state.failures = state.failures.saturating_add(1);
                state.avoided = Some(Instant::now() + backoff(state.failures, AVOID_MAX));
            }
            Ok(())
            | Err(NoticeFailure {
                kind: NoticeFailureKind::Refused | NoticeFailureKind::Temporary,
                ..
            }) => {
                (state.failures, state.avoided) = (0, None);
            }
        }
    }

    /// Records a failed attempt.
    async fn failed(
        &self,
        row: &OutboxRow,
        kind: NoticeKind,
        failure: NoticeFailure,
    ) -> Result<(), StoreError> {
        let is_final = match failure.kind {
            NoticeFailureKind::Refused => true,
            NoticeFailureKind::Temporary | NoticeFailureKind::Unreachable => false,
        };
        let (error, delay_max) = (failure.reason, jittered(row));
        let failure =
            Failure { id: row.id, error: error.clone(), attempts: None, delay_max, is_final };
        let outcome = self.app.store().failed(&[failure]).await?.into_iter().next();
        let execution = row.execution;
        match outcome {
            Some(AttemptOutcome::RetryIn(delay)) => {
                self.app.notice_counters().count(kind, NoticeOutcome::Failed);
                tracing::warn!(%execution, error, ?delay, "notification not sent");
            }
            Some(AttemptOutcome::Dead) => {
                self.app.notice_counters().count(kind, NoticeOutcome::Dead);
                tracing::error!(%execution, error, "notification is dead");
            }
            Some(AttemptOutcome::Over | AttemptOutcome::Unknown) | None => {}
        }
        Ok(())
    }

    async fn drain(&mut self) {
        while let Some(ended) = self.running.join_next().await {
            self.ended(ended).await;
        }
    }
}

/// Tries to send a message of the outbox once.
async fn attempt(
    app: &App,
    transport: &dyn NoticeTransport,
    row: &OutboxRow,
) -> Result<(), NoticeFailure> {
    let Message::Notification { event, reason: _, document, depth, target } = &row.message else {
        return Err(NoticeFailure::refused("the message is no notification"));
    };
    let notice = Notice::requested(row.execution, *event, (document.clone(), *depth), target);
    app.send_notice(transport, &notice).await
}

/// Returns the delay before the next attempt: between half of the backoff and all of it, so that
/// messages that failed together are not tried together again.
fn jittered(row: &OutboxRow) -> Duration {
    let delay = backoff(row.attempts, RETRY_MAX);
    // A cheap hash spreads consecutive ids and attempts over the whole range.
    let seed = row.id.unsigned_abs().wrapping_add(u64::from(row.attempts) << 32);
    let spread = u32::try_from(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48).unwrap_or(0);
    delay / 2 + delay * spread / (2 * 65536)
}
