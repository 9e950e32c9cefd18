//! What may become of an owed message, as rules that every store keeps.
//!
//! Invariants: a message is sent at least once or lies among the dead, where people see it; one that
//! has been sent or dropped never comes back.

use std::time::Duration;

use noetl_model::{Message, Timestamp};

use crate::OutboxRow;

/// How many messages are taken or listed at once at most.
pub const OUTBOX_TAKE_MAX: usize = 1000;
/// How often a message is tried before it is dead.
pub const OUTBOX_ATTEMPTS_MAX: u32 = 20;
/// How many characters of an error are kept.
pub const OUTBOX_ERROR_MAX: usize = 2000;
/// Up to which power of two a failed message waits, in seconds.
const BACKOFF_POWER_MAX: u32 = 8;
/// The part of a take that messages tried before may have while fresh ones wait.
const RETRY_SHARE: usize = 4;

/// Who takes messages, and with that which ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taker {
    /// The control plane's own loop: everything, fresh ones first, in no order that matters.
    Relay,
    /// A program that sends notifications for us: those alone, and of one execution none before an
    /// earlier one has been sent.
    Publisher,
}

/// What is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Take {
    pub taker: Taker,
    /// At most [`OUTBOX_TAKE_MAX`].
    pub limit: usize,
    /// After how long without a word of the taker a message is somebody else's.
    pub hold: Duration,
}

impl Take {
    pub fn limit(self) -> usize {
        self.limit.min(OUTBOX_TAKE_MAX)
    }

    /// How many messages that were tried before go ahead of fresh ones, so that neither starves.
    pub fn retries_first(self) -> usize {
        self.limit() / RETRY_SHARE
    }
}

/// How an owed message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    /// Nobody has tried it.
    Pending,
    /// Somebody is at it, or has died over it.
    InFlight,
    /// It could not be sent, and waits for the next try.
    Failed,
    /// It is not tried again unless somebody says so.
    Dead,
}

impl MessageState {
    pub const ALL: &'static [MessageState] =
        &[MessageState::Pending, MessageState::InFlight, MessageState::Failed, MessageState::Dead];

    pub fn as_str(self) -> &'static str {
        match self {
            MessageState::Pending => "PENDING",
            MessageState::InFlight => "IN_FLIGHT",
            MessageState::Failed => "FAILED",
            MessageState::Dead => "DEAD",
        }
    }
}

/// The word names no state of a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not PENDING, IN_FLIGHT, FAILED or DEAD")]
pub struct UnknownMessageState(String);

impl std::str::FromStr for MessageState {
    type Err = UnknownMessageState;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = MessageState::ALL.iter().find(|state| state.as_str() == word);
        known.copied().ok_or_else(|| UnknownMessageState(word.to_owned()))
    }
}

/// A message as people look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    pub row: OutboxRow,
    pub state: MessageState,
    /// When it may be taken next; nothing if it is dead or nobody has tried it.
    pub available_at: Option<Timestamp>,
    pub last_error: Option<String>,
    pub created_at: Timestamp,
}

/// Which messages a listing shows, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LetterPage {
    pub state: Option<MessageState>,
    /// Only messages after this one.
    pub after: i64,
    pub limit: usize,
}

/// A message that could not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub id: i64,
    pub error: String,
    /// How often its sender says to have tried; the message's own count if it does not say.
    pub attempts: Option<u32>,
    /// The longest that it may wait for the next try.
    pub delay_max: Duration,
}

/// What becomes of a message that could not be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    RetryIn(Duration),
    Dead,
    /// It has been sent or dropped meanwhile, or was dead before: nothing changes.
    Over,
    /// There never was such a message.
    Unknown,
}

impl Failure {
    /// What becomes of a message that has been taken so often.
    pub fn fate(&self, taken: u32) -> Fate {
        if taken >= OUTBOX_ATTEMPTS_MAX {
            return Fate::Dead;
        }
        Fate::RetryIn(backoff(self.attempts.unwrap_or(taken), self.delay_max))
    }

    /// The error as it is kept.
    pub fn kept_error(&self) -> String {
        self.error.chars().take(OUTBOX_ERROR_MAX).collect()
    }
}

/// How long a message waits after so many tries: twice as long each time.
pub fn backoff(attempts: u32, max: Duration) -> Duration {
    let power = attempts.saturating_sub(1).min(BACKOFF_POWER_MAX);
    Duration::from_secs(1 << power).min(max)
}

/// What `sent` found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    /// How many messages were owed until now.
    pub marked: u64,
    /// The ids that no message ever had. Messages that were sent before are in neither.
    pub unknown: Vec<i64>,
}

/// Whether a message goes onto the bus, where a program of somebody else can put it as well.
pub fn is_for_bus(message: &Message) -> bool {
    match message {
        Message::CommandReady { .. } => true,
        Message::CommandCancelled { .. }
        | Message::ChildEnded { .. }
        | Message::CancelChild { .. }
        | Message::CancelLinked { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_backoff(attempts: u32, max: u64, expected: u64) {
        let delay = backoff(attempts, Duration::from_secs(max));
        assert_eq!(delay, Duration::from_secs(expected), "after {attempts} attempts");
    }

    #[test]
    fn the_wait_doubles_up_to_256_seconds() {
        for (attempts, seconds) in
            [(0, 1), (1, 1), (2, 2), (5, 16), (8, 128), (9, 256), (10, 256), (u32::MAX, 256)]
        {
            check_backoff(attempts, 300, seconds);
        }
    }

    #[test]
    fn the_wait_is_never_longer_than_asked_for() {
        check_backoff(9, 10, 10);
        check_backoff(1, 0, 0);
    }

    fn failure(attempts: Option<u32>) -> Failure {
        let error = "é".repeat(OUTBOX_ERROR_MAX + 1);
        Failure { id: 1, error, attempts, delay_max: Duration::from_secs(300) }
    }

    #[test]
    fn the_sender_may_say_how_often_it_has_tried() {
        assert_eq!(failure(Some(5)).fate(1), Fate::RetryIn(Duration::from_secs(16)));
        assert_eq!(failure(None).fate(3), Fate::RetryIn(Duration::from_secs(4)));
    }

    #[test]
    fn after_the_last_attempt_a_message_is_dead_whatever_its_sender_says() {
        assert_eq!(failure(Some(1)).fate(OUTBOX_ATTEMPTS_MAX), Fate::Dead);
        assert_ne!(failure(Some(100)).fate(OUTBOX_ATTEMPTS_MAX - 1), Fate::Dead);
    }

    #[test]
    fn an_error_is_cut_between_characters() {
        assert_eq!(failure(None).kept_error().chars().count(), OUTBOX_ERROR_MAX);
    }

    #[test]
    fn states_read_as_they_are_written() {
        for state in MessageState::ALL {
            assert_eq!(state.as_str().parse(), Ok(*state));
        }
        assert!("pending".parse::<MessageState>().is_err());
    }
}
