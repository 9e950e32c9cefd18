//! Signals to executions.

use serde::{Deserialize, Serialize};
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
