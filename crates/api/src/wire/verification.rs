//! Bodies of the route that verifies executions.

use noetl_model::LogOrigin;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The expected result of a verification.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct VerificationQuery {
    /// The expected digest of the last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
}

/// The result of verifying an execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Verification {
    pub execution_id: String,
    /// `native` for a log of the engine; logs of other origins have no digests.
    #[serde(default)]
    #[schema(value_type = String)]
    pub origin: LogOrigin,
    /// True if no fault was found.
    pub valid: bool,
    /// Number of events that were read.
    pub events: u64,
    /// The first event covered by digests; null if none is.
    pub proven_from: Option<u64>,
    /// The digest of the last event; evidence if a copy is kept elsewhere.
    pub head: Option<String>,
    /// The first fault that was found.
    pub fault: Option<String>,
    /// A remark that is not a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
