//! What messaging promises: a hint may be lost, repeated or reordered.
//!
//! A hint says "look again" and carries no truth; whoever listens also looks by itself from time to
//! time. So a bus can be slow or gone without anything going wrong, only later. Workers that cannot
//! look by themselves get a notification, which may be repeated and is sent until it is taken.
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

/// Where it is worth looking again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hint", rename_all = "snake_case")]
pub enum Hint {
    /// A command waits in this pool.
    CommandReady { pool: Pool },
    /// A command was cancelled; whoever runs it should stop.
    CommandCancelled { execution: ExecutionId, command: CommandId },
    /// The log of this execution has grown.
    ExecutionAdvanced { execution: ExecutionId },
    /// Hints were lost: anything may have happened.
    LookAgain,
}

/// A command waits for a worker that is told and does not ask.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    pub occasion: Occasion,
    pub pool: Pool,
    pub command: CommandName,
    /// The W3C trace context the execution came with.
    pub trace: Option<Arc<Value>>,
}

/// Why workers are told: the same each time a notification is repeated, so that it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// The command was issued: the outbox row that says so.
    Issued { row: i64 },
    /// It still waits, or waits again because this attempt was lost; the n-th time of saying so.
    Reminder { attempt: Attempt, count: u32 },
}

/// Why a notification is still owed.
#[derive(Debug, Error)]
pub enum BusError {
    /// Nothing can be sent at the moment.
    #[error("the bus cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// This one cannot be sent; others can.
    #[error("the bus does not take the message")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A message for whoever reads a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    pub subject: String,
    /// By which the broker knows a repetition.
    pub id: String,
    pub body: Vec<u8>,
}

/// How far a bus reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This process, always.
    Process,
    /// Everybody at a broker.
    Connected,
    /// Nobody, until the broker is back.
    Disconnected,
}

/// Carries hints from whoever knows to whoever waits.
#[async_trait]
pub trait Bus: Send + Sync {
    /// Tells everybody who listens now. A hint that cannot be delivered is lost; nobody is told.
    async fn publish(&self, hint: Hint);

    /// Tells workers that do not look by themselves; once this is `Ok`, the broker has it. A bus
    /// without such workers has nobody to tell.
    async fn notify(&self, _notification: &Notification) -> Result<(), BusError> {
        Ok(())
    }

    /// Puts messages onto their subjects, in order; once this is `Ok`, the broker has them all. A bus
    /// without a broker takes none.
    async fn put(&self, _parcels: &[Parcel]) -> Result<(), BusError> {
        Err(BusError::Refused("there is no broker".into()))
    }

    /// Listens from now on.
    fn subscribe(&self) -> HintReceiver;

    /// How far it reaches at the moment.
    fn reach(&self) -> Reach {
        Reach::Process
    }
}
