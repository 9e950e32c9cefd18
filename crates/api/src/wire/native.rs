//! Bodies of the native worker protocol: leases, heartbeats and reports, many at a time.

use noetl_model::{
    HeartbeatAnswer, Held, Lease, LeaseScope, LogAnswer, LogBatch, Pool, Report, ReportAnswer,
    WorkerId,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::LeaseProof;

/// A worker's request for commands.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LeaseCall {
    #[schema(value_type = String)]
    pub worker: WorkerId,
    #[schema(value_type = String)]
    pub pool: Pool,
    /// `all`, or `idle` for executions of which no worker holds a command.
    #[serde(default)]
    #[schema(value_type = String)]
    pub scope: LeaseScope,
    /// Maximum number of commands to lease.
    pub max: usize,
    /// Maximum wait for the first command, in milliseconds.
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
    /// The secrets of the leases of `held`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub proofs: Vec<LeaseProof>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatReply {
    /// Answers, one per command, in order.
    #[schema(value_type = Vec<Object>)]
    pub answers: Vec<HeartbeatAnswer>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReportCall {
    #[schema(value_type = Vec<Object>)]
    pub reports: Vec<Report>,
    /// The secrets of the leases of the reported commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub proofs: Vec<LeaseProof>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReportReply {
    /// Answers, one per report, in order.
    #[schema(value_type = Vec<Object>)]
    pub answers: Vec<ReportAnswer>,
}

/// Output of running tools, by attempt.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LogsCall {
    #[schema(value_type = Vec<Object>)]
    pub batches: Vec<LogBatch>,
    /// The secrets of the leases of the commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub proofs: Vec<LeaseProof>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LogsReply {
    /// Answers, one per batch, in order: `stored`, `unknown`, or `full` with the number of chunks
    /// that were kept.
    #[schema(value_type = Vec<Object>)]
    pub answers: Vec<LogAnswer>,
}

/// A worker's notice that it ends.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReleaseCall {
    #[schema(value_type = String)]
    pub worker: WorkerId,
    /// The secrets of leases of the worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub proofs: Vec<LeaseProof>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReleaseReply {
    /// Number of commands the worker still held.
    pub released: u64,
}
