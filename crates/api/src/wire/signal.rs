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
