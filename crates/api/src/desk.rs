//! What whoever fetches messages asks of a control plane.

use async_trait::async_trait;
use noetl_model::{Arrival, ExecutionId, SubscriptionState, Verdict, WorkerId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ControlError;

/// Who says what is to be fetched, and takes it.
#[async_trait]
pub trait Desk: Send + Sync {
    /// What is to be fetched for the subscription of a path now, if it is this runtime's to fetch.
    /// Asking again says that the runtime is still there.
    async fn attend(&self, runtime: &WorkerId, path: &str) -> Result<Assignment, ControlError>;

    /// Takes messages in the order they came; one verdict for each, in order, once it is durable. A
    /// message that is handed in again is known.
    async fn take(
        &self,
        runtime: &WorkerId,
        subscription: ExecutionId,
        arrivals: Vec<Arrival>,
    ) -> Result<Vec<Verdict>, ControlError>;

    /// Lets another runtime fetch, since this one ends.
    async fn leave(
        &self,
        runtime: &WorkerId,
        subscription: ExecutionId,
    ) -> Result<(), ControlError>;
}

/// What a runtime is to do for a subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    pub subscription: ExecutionId,
    pub path: String,
    #[serde(with = "state")]
    pub state: SubscriptionState,
    /// Which version of its document this is about; another one has other settings.
    pub version: u32,
    /// Such as `nats`.
    pub source: String,
    /// How the source is reached: the document's `spec`.
    pub settings: Map<String, Value>,
    /// The broker of the control plane, for a source whose settings name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker_url: Option<String>,
    pub batch: u32,
    pub wait_ms: u64,
    /// How many messages may be in hand at once.
    pub in_flight_max: u32,
    pub per_second_max: Option<u32>,
    /// How many messages are handed in at once.
    pub chunk: u32,
    pub line: Line,
    pub pace: Pace,
}

/// Whether messages have to keep an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// They do not, and any number of runtimes fetch.
    Free,
    /// They do, and it is this runtime's turn.
    Mine,
    /// They do, and it is another's turn.
    Anothers,
}

/// Until when messages are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    Continuous,
    /// Until there are none, as often as somebody asks for it.
    UntilEmpty,
}

/// A state as everybody spells it.
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
