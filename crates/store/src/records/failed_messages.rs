//! Messages that came in and could not be dispatched: those that are tried again, and the dead.

use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{Arrival, ExecutionId, Timestamp};

use crate::{StoreError, backoff};

/// How many characters of a reason are kept.
pub const REASON_MAX: usize = 2000;
/// The longest that a message waits before it is tried again.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// A message that failed, by its `once` among those of its subscription.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedMessage {
    pub subscription: ExecutionId,
    pub arrival: Arrival,
    /// What it waits in one line with.
    pub order_key: Option<String>,
    pub failures: u32,
    /// Why, the last time.
    pub reason: String,
    pub standing: FailedStanding,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
}

/// What is next for a message that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedStanding {
    /// It may be tried again from then on.
    Waiting { until: Timestamp },
    /// It is tried again only if somebody says so.
    Dead,
}

impl FailedStanding {
    /// What is next after so many failures, the last of them now.
    pub fn after(failures: u32, failures_max: u32, now: Timestamp) -> Self {
        if failures >= failures_max {
            return FailedStanding::Dead;
        }
        FailedStanding::Waiting { until: now.after(backoff(failures, RETRY_MAX)) }
    }

    /// As stores keep it: when it is tried again, or nothing.
    pub fn until(self) -> Option<Timestamp> {
        match self {
            FailedStanding::Waiting { until } => Some(until),
            FailedStanding::Dead => None,
        }
    }

    /// From what stores keep.
    pub fn of(until: Option<Timestamp>) -> Self {
        until.map_or(FailedStanding::Dead, |until| FailedStanding::Waiting { until })
    }
}

/// What is looked at when the same message comes again, or another of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedMark {
    pub once: String,
    pub order_key: Option<String>,
    pub failures: u32,
    pub standing: FailedStanding,
    pub first_at: Timestamp,
}

#[async_trait]
pub trait FailedMessages: Send + Sync {
    /// Keeps a message that failed, in place of what was kept of it.
    async fn put_failed_message(&self, message: &FailedMessage) -> Result<(), StoreError>;

    /// Those of a subscription that are named, and those that wait in one of these lines.
    async fn failed_among(
        &self,
        subscription: ExecutionId,
        named: &[String],
        order_keys: &[String],
    ) -> Result<Vec<FailedMark>, StoreError>;

    async fn failed_message(
        &self,
        subscription: ExecutionId,
        once: &str,
    ) -> Result<Option<FailedMessage>, StoreError>;

    /// Those of a subscription in the order of their `once`, from after one of them on, at most
    /// `PAGE_MAX`.
    async fn failed_messages(
        &self,
        subscription: ExecutionId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<FailedMessage>, StoreError>;

    /// Forgets messages; the answer is how many there were.
    async fn remove_failed_messages(
        &self,
        subscription: ExecutionId,
        named: &[String],
    ) -> Result<u64, StoreError>;
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
