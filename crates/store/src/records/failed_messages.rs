//! Incoming messages that could not be dispatched: waiting for a retry, or dead.

use std::time::Duration;

use noetl_model::{Arrival, ExecutionId, Timestamp};

use crate::backoff;

/// The number of characters of a reason that are stored.
pub const REASON_MAX: usize = 2000;
/// The longest wait before a retry.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// A failed message, identified by its subscription and its `once` key.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedMessage {
    pub subscription: ExecutionId,
    pub arrival: Arrival,
    /// The key of the line in which the message waits, for ordered delivery.
    pub order_key: Option<String>,
    pub failures: u32,
    /// The reason of the last failure.
    pub reason: String,
    pub standing: FailedStanding,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
}

/// The next step for a failed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedStanding {
    /// The message may be retried from this instant on.
    Waiting { until: Timestamp },
    /// The message is retried only on request.
    Dead,
}

impl FailedStanding {
    /// Returns the next step after `failures` failures, the last of them at `now`.
    pub fn after(failures: u32, failures_max: u32, now: Timestamp) -> Self {
        if failures >= failures_max {
            return FailedStanding::Dead;
        }
        FailedStanding::Waiting { until: now.after(backoff(failures, RETRY_MAX)) }
    }

    /// Returns the stored form: the time of the retry, or `None` for a dead message.
    pub fn until(self) -> Option<Timestamp> {
        match self {
            FailedStanding::Waiting { until } => Some(until),
            FailedStanding::Dead => None,
        }
    }

    /// Restores the value from its stored form.
    pub fn of(until: Option<Timestamp>) -> Self {
        until.map_or(FailedStanding::Dead, |until| FailedStanding::Waiting { until })
    }
}

/// The part of a failed message that is checked when it, or another message of its line, arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedMark {
    pub once: String,
    pub order_key: Option<String>,
    pub failures: u32,
    pub standing: FailedStanding,
    pub first_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_waits_twice_as_long_each_time_and_is_dead_in_the_end() {
        let now = Timestamp::from_micros(0);
        let waits: Vec<Option<i64>> = (1..=4)
            .map(|failures| FailedStanding::after(failures, 4, now).until())
            .map(|until| until.map(|until| until.as_millis() / 1000))
            .collect();
        assert_eq!(waits, [Some(1), Some(2), Some(4), None]);
    }
}
