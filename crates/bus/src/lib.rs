//! The messaging interface. A hint may be lost, repeated or reordered.
//!
//! A hint says "look again" and carries no state; every listener also polls from time to time. A
//! slow or missing bus therefore only delays work. Workers that do not poll get a notification,
//! which may be repeated and is sent until the broker has it.
//!
//! Invariants: publishing never waits for a listener; notifying never waits long for a broker.

mod local;
pub mod wire;

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::{Attempt, CommandId, CommandName, ExecutionId, Pool};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

pub use local::{HINTS_MAX, HintReceiver, LocalBus};

/// A hint about state that is worth reading again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hint", rename_all = "snake_case")]
pub enum Hint {
    /// A command waits in this pool.
    CommandReady { pool: Pool },
    /// A command was cancelled; the worker that runs it should stop.
    CommandCancelled { execution: ExecutionId, command: CommandId },
    /// The log of this execution has grown.
    ExecutionAdvanced { execution: ExecutionId },
    /// Hints were lost, so anything may have changed.
    LookAgain,
}

/// A notification of a waiting command, for workers that do not poll.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    pub reason: NotificationReason,
    pub pool: Pool,
    pub command: CommandName,
    /// The W3C trace context of the execution.
    pub trace: Option<Arc<Value>>,
}

/// The reason for a notification. A repeated notification has the same reason, so that duplicates
/// are recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationReason {
    /// The command was issued, with the id of its outbox row.
    Issued { row: i64 },
    /// The command still waits, or waits again because this attempt was lost; `count` numbers the
    /// reminders.
    Reminder { attempt: Attempt, count: u32 },
}

/// The reason a notification was not sent.
#[derive(Debug, Error)]
pub enum BusError {
    /// The broker cannot be reached; no message can be sent.
    #[error("the bus cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The broker rejects this message; others can be sent.
    #[error("the bus does not take the message")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A message for the readers of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusMessage {
    pub subject: String,
    /// The id by which the broker recognizes duplicates.
    pub id: String,
    pub body: Vec<u8>,
}

/// The current reach of a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only the current process.
    Process,
    /// All clients of a broker.
    Connected,
    /// No client, until the broker is back.
    Disconnected,
}

/// Carries hints from publishers to listeners.
#[async_trait]
pub trait Bus: Send + Sync {
    /// Sends a hint to all current listeners. A hint that cannot be delivered is lost without an
    /// error.
    async fn publish(&self, hint: Hint);

    /// Notifies workers that do not poll; on `Ok`, the broker has the notification. A bus without
    /// such workers does nothing.
    async fn notify(&self, _notification: &Notification) -> Result<(), BusError> {
        Ok(())
    }

    /// Publishes messages to their subjects, in order; on `Ok`, the broker has all of them. A bus
    /// without a broker refuses.
    async fn put(&self, _parcels: &[BusMessage]) -> Result<(), BusError> {
        Err(BusError::Refused("there is no broker".into()))
    }

    /// Starts listening for hints.
    fn subscribe(&self) -> HintReceiver;

    /// Returns the current reach of the bus.
    fn reach(&self) -> Reach {
        Reach::Process
    }
}
