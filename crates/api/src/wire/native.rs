//! Bodies of the native worker protocol: leases, heartbeats and reports, many at a time.

use noetl_model::{Lease, Pool, Report, WorkerId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{HeartbeatAnswer, Held, ReportAnswer};

/// A worker's wish for work.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LeaseCall {
    #[schema(value_type = String)]
    pub worker: WorkerId,
    #[schema(value_type = String)]
    pub pool: Pool,
    /// How many commands the worker has room for.
    pub max: usize,
    /// How long to wait for the first of them.
    pub wait_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LeaseReply {
    #[schema(value_type = Vec<Object>)]
    pub leases: Vec<Lease>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatCall {
    #[schema(value_type = String)]
    pub worker: WorkerId,
    #[schema(value_type = Vec<Object>)]
    pub held: Vec<Held>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatReply {
    /// One for each, in order.
    #[schema(value_type = Vec<Object>)]
    pub answers: Vec<HeartbeatAnswer>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReportCall {
    #[schema(value_type = Vec<Object>)]
    pub reports: Vec<Report>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReportReply {
    /// One for each, in order.
    #[schema(value_type = Vec<Object>)]
    pub answers: Vec<ReportAnswer>,
}

/// A worker ends.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReleaseCall {
    #[schema(value_type = String)]
    pub worker: WorkerId,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReleaseReply {
    /// How many commands it still had.
    pub released: u64,
}
