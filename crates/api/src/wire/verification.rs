//! Bodies of the route that verifies executions.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// What an execution is held against.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct VerificationQuery {
    /// The digest that the last event must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
}

/// What was found about an execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Verification {
    pub execution_id: String,
    /// Whether nothing is wrong.
    pub valid: bool,
    /// How many events were read.
    pub events: u64,
    /// The event at which the proof begins; none if all are from before there were digests.
    pub proven_from: Option<u64>,
    /// The digest of the last event: evidence, if it is kept elsewhere.
    pub head: Option<String>,
    /// The first thing that is wrong.
    pub fault: Option<String>,
    /// What is not wrong, and worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
