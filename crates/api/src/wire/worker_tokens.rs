//! Bodies about the short-lived tokens of workers.

use noetl_model::{Pool, WorkerId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A worker's request for a token of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerTokenCall {
    #[schema(value_type = String)]
    pub worker: WorkerId,
    #[schema(value_type = String)]
    pub pool: Pool,
}

/// A token for one worker in one pool. It only permits to work.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerTokenReply {
    pub token: String,
    pub expires_at: String,
    /// The remaining time, in seconds. Workers renew the token when half of it has passed.
    pub expires_in_seconds: u64,
}
