//! The outbox: pending messages, for programs that send them and for operators.
//!
//! Only notifications are handed out; messages between executions are delivered by the relay alone.

use std::collections::BTreeSet;
use std::time::Duration;

use noetl_api::wire::{OutboxMessage, OutboxPage};
use noetl_bus::Notification;
use noetl_control::notification;
use noetl_store::{
    AttemptOutcome, Failure, ListedMessage, MessageState, OUTBOX_TAKE_MAX, OutboxConsumer,
    OutboxListing, Sent, StoreError, Take,
};

use crate::app::App;

/// Time after which a claimed message that is not marked may be claimed again.
const CLAIM_HOLD: Duration = Duration::from_secs(60);
/// Maximum number of messages that one request may name.
const IDS_MAX: usize = 10_000;
/// Default number of messages per page.
const PAGE_SIZE: usize = 100;

/// The reason why an operation on the outbox fails.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    #[error("name at least one message in `outbox_ids`")]
    NoIds,
    #[error("name at most {IDS_MAX} messages in `outbox_ids`")]
    TooManyIds,
    #[error("say in `error` why the message could not be sent")]
    NoReason,
    #[error("{0}")]
    UnknownState(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A claimed notification.
#[derive(Debug, Clone)]
pub struct ClaimedNotification {
    /// Id of the message in the outbox.
    pub id: i64,
    pub notification: Notification,
    /// Number of claims, including this one.
    pub attempts: u32,
}

/// A failed try to send a message.
#[derive(Debug, Clone)]
pub struct FailedSend {
    pub id: i64,
    pub reason: String,
    /// Number of tries; the message's own count if left out.
    pub attempts: Option<u32>,
    pub delay_max: Duration,
}

/// The state of a message after a failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    RetryIn(Duration),
    Dead,
    /// The message was sent already.
    Sent,
    /// No message ever had this id.
    Unknown,
}

/// The result of marking messages as sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarkedSent {
    /// The number of messages that are sent, now or by an earlier request.
    pub marked: u64,
    /// The number of them that were pending until this request.
    pub newly: u64,
    /// The ids that no message ever had.
    pub unknown: Vec<i64>,
}

impl App {
    /// Claims up to `limit` notifications to send, in order per execution.
    pub async fn claim_notifications(
        &self,
        limit: usize,
    ) -> Result<Vec<ClaimedNotification>, StoreError> {
        let limit = limit.clamp(1, OUTBOX_TAKE_MAX);
        let take = Take { consumer: OutboxConsumer::Publisher, limit, hold: CLAIM_HOLD };
        let taken = self.store().take(take).await?;
        let (mut claimed, mut for_nobody) = (Vec::with_capacity(taken.len()), Vec::new());
        for row in &taken {
            match notification(row) {
                Some(notification) => {
                    let (id, attempts) = (row.id, row.attempts);
                    claimed.push(ClaimedNotification { id, notification, attempts });
                }
                None => for_nobody.push(row.id),
            }
        }
        if !for_nobody.is_empty() {
            self.store().sent(&for_nobody).await?;
        }
        Ok(claimed)
    }

    /// Marks messages as sent.
    pub async fn mark_sent(&self, ids: &[i64]) -> Result<MarkedSent, OutboxError> {
        let ids: BTreeSet<i64> = checked(ids)?.iter().copied().collect();
        let ids: Vec<i64> = ids.into_iter().collect();
        let mut sum = MarkedSent::default();
        for part in ids.chunks(OUTBOX_TAKE_MAX) {
            let Sent { marked, unknown } = self.store().sent(part).await?;
            sum.newly += marked;
            sum.marked += (part.len() - unknown.len()) as u64;
            sum.unknown.extend(unknown);
        }
        Ok(sum)
    }

    /// Marks a message as failed and schedules the next try.
    pub async fn mark_send_failed(&self, failed: FailedSend) -> Result<AfterFailure, OutboxError> {
        let FailedSend { id, reason, attempts, delay_max } = failed;
        if reason.trim().is_empty() {
            return Err(OutboxError::NoReason);
        }
        let failure = Failure { id, error: reason, attempts, delay_max, is_final: false };
        match self.store().failed(&[failure]).await?.first() {
            Some(AttemptOutcome::RetryIn(delay)) => Ok(AfterFailure::RetryIn(*delay)),
            Some(AttemptOutcome::Dead) => Ok(AfterFailure::Dead),
            Some(AttemptOutcome::Over) => Ok(AfterFailure::Sent),
            Some(AttemptOutcome::Unknown) | None => Ok(AfterFailure::Unknown),
        }
    }

    /// Counts the messages that may be sent now.
    pub async fn pending_messages(&self) -> Result<u64, StoreError> {
        self.store().pending().await
    }

    /// Counts the messages that are not sent yet, due or not.
    pub async fn unsent_messages(&self) -> Result<u64, StoreError> {
        self.store().owed().await
    }

    /// Lists the pending messages in a state (ignoring case) after an id, oldest first.
    pub async fn list_messages(
        &self,
        state: Option<&str>,
        after: i64,
        limit: Option<usize>,
    ) -> Result<OutboxPage, OutboxError> {
        let state = state.map(|word| word.to_ascii_uppercase().parse::<MessageState>()).transpose();
        let state = state.map_err(|error| OutboxError::UnknownState(error.to_string()))?;
        let limit = limit.unwrap_or(PAGE_SIZE).clamp(1, OUTBOX_TAKE_MAX);
        let listed = self.store().list_messages(OutboxListing { state, after, limit }).await?;
        let next_after = listed.last().filter(|_| listed.len() == limit).map(|last| last.row.id);
        let messages = listed.into_iter().map(view).collect();
        Ok(OutboxPage { messages, next_after })
    }

    /// Retries failed and dead messages at once; returns their number.
    pub async fn retry_messages(&self, ids: &[i64]) -> Result<u64, OutboxError> {
        let mut revived = 0;
        for part in checked(ids)?.chunks(OUTBOX_TAKE_MAX) {
            revived += self.store().revive(part).await?;
        }
        Ok(revived)
    }

    /// Deletes dead messages; returns their number.
    pub async fn drop_messages(&self, ids: &[i64]) -> Result<u64, OutboxError> {
        let mut discarded = 0;
        for part in checked(ids)?.chunks(OUTBOX_TAKE_MAX) {
            discarded += self.store().discard(part).await?;
        }
        Ok(discarded)
    }
}

fn checked(ids: &[i64]) -> Result<&[i64], OutboxError> {
    match ids.len() {
        0 => Err(OutboxError::NoIds),
        1..=IDS_MAX => Ok(ids),
        _ => Err(OutboxError::TooManyIds),
    }
}

fn view(listed: ListedMessage) -> OutboxMessage {
    let message = serde_json::to_value(&listed.row.message).expect("a message is JSON");
    OutboxMessage {
        outbox_id: listed.row.id,
        execution_id: listed.row.execution.to_string(),
        kind: message["type"].as_str().unwrap_or_default().to_owned(),
        status: listed.state.as_str().to_owned(),
        attempts: listed.row.attempts,
        last_error: listed.last_error,
        available_at: listed.available_at.map(|at| at.to_string()),
        created_at: listed.created_at.to_string(),
        message,
    }
}
