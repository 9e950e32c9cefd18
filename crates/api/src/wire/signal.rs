//! Signals to executions.

use noetl_model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::AnyId;

/// The options of a signal.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SignalQuery {
    /// The name of the sender, as the step's output shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// The idempotency key, for clients that cannot send the header `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SignalAnswer {
    pub execution_id: AnyId,
    pub signal: String,
    pub status: &'static str,
}

/// The options of a signal that is sent by correlation key.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct KeyedSignalQuery {
    /// The correlation key that the step waits with.
    pub key: String,
    /// The name of the sender, as the step's output shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// The idempotency key, for clients that cannot send the header `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The time for which the signal is kept if no step takes it: seconds, or text such as `2d`. 7 days
    /// by default, at most 90.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_for: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyedSignalAnswer {
    pub signal: String,
    pub key: String,
    /// `delivered` to a step, or `kept` for the next one that waits.
    pub status: String,
    /// The execution whose step took the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<AnyId>,
}

/// The page of a list of kept signals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct KeptSignalsQuery {
    /// Only signals of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only signals with this correlation key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<AnyId>,
    /// At most 100; 50 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A signal that was sent by correlation key and that no step has taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KeptSignalView {
    pub signal_id: AnyId,
    pub name: String,
    pub key: String,
    /// `kept`, or `delivering` while a step is about to take it.
    pub status: String,
    /// The body, unless it is longer than 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The length of the body as JSON.
    pub body_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub received_at: Timestamp,
    /// The time at which the signal is dropped if no step takes it before.
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub expires_at: Timestamp,
}

/// A page of the kept signals, in the order of their numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KeptSignalList {
    pub signals: Vec<KeptSignalView>,
    /// The value of `after` for the next page; `None` on the last page. A filtered page may be short or
    /// empty although there is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<AnyId>,
}
