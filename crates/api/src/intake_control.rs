//! The interface between message runtimes and the control plane: what to fetch, and where to hand
//! it in.

use async_trait::async_trait;
use noetl_model::{Arrival, ExecutionId, MessageOutcome, SubscriptionState, WorkerId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ControlError;

/// Assigns subscriptions to runtimes and takes the messages they fetch.
#[async_trait]
pub trait IntakeControl: Send + Sync {
    /// Returns the assignment of a runtime for the subscription at `path`. Repeated calls show that
    /// the runtime is alive.
    async fn attend(&self, runtime: &WorkerId, path: &str) -> Result<Assignment, ControlError>;

    /// Takes messages in the order of their arrival; returns one verdict per message, in order,
    /// once durable. Messages handed in again are recognized as duplicates.
    async fn take(
        &self,
        runtime: &WorkerId,
        subscription: ExecutionId,
        arrivals: Vec<Arrival>,
    ) -> Result<Vec<MessageOutcome>, ControlError>;

    /// Ends the assignment, so that another runtime can fetch.
    async fn leave(
        &self,
        runtime: &WorkerId,
        subscription: ExecutionId,
    ) -> Result<(), ControlError>;
}

/// The subscription that a runtime fetches messages for, and its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    pub subscription: ExecutionId,
    pub path: String,
    #[serde(with = "state")]
    pub state: SubscriptionState,
    /// Version of the subscription's document; other versions may have other settings.
    pub version: u32,
    /// Kind of the source, such as `nats`.
    pub source: String,
    /// Connection settings of the source: the document's `spec`.
    pub settings: Map<String, Value>,
    /// URL of the control plane's broker, for a source whose settings name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker_url: Option<String>,
    pub batch: u32,
    pub wait_ms: u64,
    /// Maximum number of messages in flight: fetched, without a verdict.
    pub in_flight_max: u32,
    pub per_second_max: Option<u32>,
    /// Number of messages handed in per call.
    pub chunk: u32,
    pub line: FetchOrder,
    pub pace: FetchMode,
}

/// The ordering requirement of a subscription, and this runtime's part in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchOrder {
    /// Order is not required; any number of runtimes may fetch.
    #[serde(rename = "free")]
    Any,
    /// Order is required, and this runtime is the one that fetches.
    #[serde(rename = "mine")]
    Assigned,
    /// Order is required, and another runtime fetches.
    #[serde(rename = "anothers")]
    Waiting,
}

/// The duration of fetching: continuous, or until the source is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchMode {
    Continuous,
    /// Fetch until the source is empty, once per request.
    UntilEmpty,
}

/// Serializes a subscription state by its name.
mod state {
    use noetl_model::SubscriptionState;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        state: &SubscriptionState,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(state.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SubscriptionState, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = SubscriptionState::ALL.iter().find(|state| state.as_str() == word);
        known.copied().ok_or_else(|| D::Error::custom("no state of a subscription"))
    }
}
