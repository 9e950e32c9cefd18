//! Signals that are sent by a correlation key and kept until a wait takes them.

use noetl_model::{Actor, CommandId, ExecutionId, IndexKey, SignalKey, SignalName, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The content of a signal that is sent by a correlation key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyedSignal {
    pub name: SignalName,
    pub key: SignalKey,
    pub body: Value,
    /// The name of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// The person or program that sent the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    pub received_at: Timestamp,
}

/// A stored signal.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSignal {
    /// The number of the signal; signals of one key are delivered in the order of their numbers.
    pub id: i64,
    /// The index key of the waits that may take the signal.
    pub index_key: IndexKey,
    /// The deduplication key: while it is stored, a signal with the same one is not stored again.
    pub once: Option<String>,
    pub state: SignalState,
    /// The time after which a signal that no wait has taken is dropped, and a delivered one forgotten.
    pub expires_at: Timestamp,
    pub signal: KeyedSignal,
}

/// The progress of a stored signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalState {
    /// No wait has taken the signal.
    Kept,
    /// The signal is being delivered to a wait. Until that wait refuses it, no other one gets it.
    Assigned(SignalTarget),
    /// The wait has taken the signal.
    Delivered(SignalTarget),
}

/// A wait for a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalTarget {
    pub execution: ExecutionId,
    pub command: CommandId,
}

impl SignalState {
    /// Returns the stored name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            SignalState::Kept => "kept",
            SignalState::Assigned(_) => "assigned",
            SignalState::Delivered(_) => "delivered",
        }
    }

    pub(crate) fn target(self) -> Option<SignalTarget> {
        match self {
            SignalState::Kept => None,
            SignalState::Assigned(target) | SignalState::Delivered(target) => Some(target),
        }
    }
}
