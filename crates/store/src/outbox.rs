//! The outbox rules that every store follows: consumers, retries and dead messages.
//!
//! Invariants: a message is sent at least once or becomes dead, where an operator sees it; a sent
//! or dropped message never comes back.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use noetl_model::{CommandId, Message, Timestamp};

use crate::OutboxRow;

/// The maximum number of messages in one take or listing.
pub const OUTBOX_TAKE_MAX: usize = 1000;
/// The number of attempts after which a message is dead.
pub const OUTBOX_ATTEMPTS_MAX: u32 = 20;
/// The number of characters of an error that are stored.
pub const OUTBOX_ERROR_MAX: usize = 2000;
/// The exponent at which the backoff stops doubling: at most 2^8 seconds.
const BACKOFF_POWER_MAX: u32 = 8;
/// The divisor for the part of a take that retried messages may fill while fresh messages wait.
const RETRY_SHARE: usize = 4;

/// The program that takes messages, which selects the messages it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxConsumer {
    /// The control plane's relay loop: all messages but notifications about executions, fresh ones
    /// first, in no guaranteed order.
    Relay,
    /// The relay loop where an external program publishes the notifications: all other messages,
    /// taken like those of [`OutboxConsumer::Relay`].
    InternalRelay,
    /// An external program that publishes notifications: only notifications, and in order within
    /// one execution.
    Publisher,
    /// The sender of notifications about executions: only those, which no other consumer takes.
    Notifier,
}

/// A request for messages to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Take {
    pub consumer: OutboxConsumer,
    /// The number of messages, at most [`OUTBOX_TAKE_MAX`].
    pub limit: usize,
    /// The time after which another consumer may take a message that got no answer.
    pub hold: Duration,
}

impl Take {
    pub fn limit(self) -> usize {
        self.limit.min(OUTBOX_TAKE_MAX)
    }

    /// Returns how many retried messages go ahead of fresh ones, so that neither starves.
    pub fn retries_first(self) -> usize {
        self.limit() / RETRY_SHARE
    }
}

/// The state of an outbox message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    /// No attempt has been made.
    Pending,
    /// A consumer holds the message, or died while holding it.
    InFlight,
    /// The last attempt failed; the message waits for the next one.
    Failed,
    /// No further attempt is made unless an operator revives the message.
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

/// The error for a word that is not a message state.
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

/// An outbox message as shown to an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedMessage {
    pub row: OutboxRow,
    pub state: MessageState,
    /// The time of the next possible take; `None` if the message is dead or was never tried.
    pub available_at: Option<Timestamp>,
    pub last_error: Option<String>,
    pub created_at: Timestamp,
}

/// The filter and page of a message listing, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxListing {
    pub state: Option<MessageState>,
    /// Lists only messages with a higher id.
    pub after: i64,
    pub limit: usize,
}

/// A failed attempt to send a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub id: i64,
    pub error: String,
    /// The number of attempts according to the sender; by default the message's own count.
    pub attempts: Option<u32>,
    /// The maximum wait before the next attempt.
    pub delay_max: Duration,
    /// True if no attempt can succeed: the message is dead at once.
    pub is_final: bool,
}

/// The consequence of a failed attempt for its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    RetryIn(Duration),
    Dead,
    /// The message was sent or dropped in the meantime, or was already dead: nothing changes.
    Over,
    /// No message ever had this id.
    Unknown,
}

impl Failure {
    /// Returns the consequence for a message that has been taken `taken` times.
    pub fn outcome(&self, taken: u32) -> AttemptOutcome {
        if self.is_final || taken >= OUTBOX_ATTEMPTS_MAX {
            return AttemptOutcome::Dead;
        }
        AttemptOutcome::RetryIn(backoff(self.attempts.unwrap_or(taken), self.delay_max))
    }

    /// Returns the error, cut to the stored length.
    pub fn kept_error(&self) -> String {
        self.error.chars().take(OUTBOX_ERROR_MAX).collect()
    }
}

impl AttemptOutcome {
    /// Returns the wait of a message that failed again, `Some(None)` for a dead one, and `None` if
    /// nothing changes.
    pub fn wait(self) -> Option<Option<Duration>> {
        match self {
            AttemptOutcome::RetryIn(delay) => Some(Some(delay)),
            AttemptOutcome::Dead => Some(None),
            AttemptOutcome::Over | AttemptOutcome::Unknown => None,
        }
    }
}

/// Returns the outcome of each failed message, given the attempts of the pending ones and the ids that
/// no message ever had.
pub fn attempt_outcomes(
    failures: &[Failure],
    attempts: &HashMap<i64, u32>,
    unknown: &HashSet<i64>,
) -> Vec<AttemptOutcome> {
    let outcome = |failure: &Failure| match attempts.get(&failure.id) {
        Some(attempts) => failure.outcome(*attempts),
        None if unknown.contains(&failure.id) => AttemptOutcome::Unknown,
        None => AttemptOutcome::Over,
    };
    failures.iter().map(outcome).collect()
}

/// Returns the ids that are not among `found`.
pub fn missing_ids(ids: &[i64], found: &[i64]) -> Vec<i64> {
    let found: HashSet<&i64> = found.iter().collect();
    ids.iter().filter(|id| !found.contains(id)).copied().collect()
}

/// Returns the wait after a number of attempts, doubling each time.
pub fn backoff(attempts: u32, max: Duration) -> Duration {
    let power = attempts.saturating_sub(1).min(BACKOFF_POWER_MAX);
    Duration::from_secs(1 << power).min(max)
}

/// The result of marking messages as sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    /// The number of messages that were pending before this call.
    pub marked: u64,
    /// The ids that no message ever had. Messages that were sent before are counted in neither
    /// field.
    pub unknown: Vec<i64>,
}

/// Returns the command that a notification announces. All other messages, which an external program
/// cannot publish, have `None`.
pub fn ready_command(message: &Message) -> Option<CommandId> {
    match message {
        Message::CommandReady { command, .. } => Some(*command),
        Message::CommandUnparked { .. }
        | Message::CommandCancelled { .. }
        | Message::ChildEnded { .. }
        | Message::CancelChild { .. }
        | Message::CancelLinked { .. }
        | Message::SignalAwaited { .. }
        | Message::PauseChild { .. }
        | Message::ResumeChild { .. }
        | Message::RequestSlot { .. }
        | Message::ReleaseSlot { .. }
        | Message::Notification { .. } => None,
    }
}

/// True for a notification about an execution, which only the notifier sends.
pub fn is_execution_notice(message: &Message) -> bool {
    matches!(message, Message::Notification { .. })
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
        Failure { id: 1, error, attempts, delay_max: Duration::from_secs(300), is_final: false }
    }

    #[test]
    fn the_sender_may_say_how_often_it_has_tried() {
        assert_eq!(failure(Some(5)).outcome(1), AttemptOutcome::RetryIn(Duration::from_secs(16)));
        assert_eq!(failure(None).outcome(3), AttemptOutcome::RetryIn(Duration::from_secs(4)));
    }

    #[test]
    fn after_the_last_attempt_a_message_is_dead_whatever_its_sender_says() {
        assert_eq!(failure(Some(1)).outcome(OUTBOX_ATTEMPTS_MAX), AttemptOutcome::Dead);
        assert_ne!(failure(Some(100)).outcome(OUTBOX_ATTEMPTS_MAX - 1), AttemptOutcome::Dead);
    }

    #[test]
    fn a_message_that_no_attempt_can_deliver_is_dead_at_once() {
        let failure = Failure { is_final: true, ..failure(None) };
        assert_eq!(failure.outcome(1), AttemptOutcome::Dead);
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
