//! The interface between workers and the control plane: leases, heartbeats, reports and
//! cancellations.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{
    CommandId, ExecutionId, HeartbeatAnswer, Held, Lease, LeaseScope, LogAnswer, LogBatch,
    PayloadRef, Pool, Report, ReportAnswer, WorkerId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::broadcast;

/// Hands out commands and takes reports: the control plane in this process, or one over HTTP.
#[async_trait]
pub trait ControlPlane: Send + Sync {
    /// Leases up to `max` commands. Returns as soon as there is one, or none after `wait`.
    async fn lease(&self, request: LeaseRequest) -> Result<Vec<Lease>, ControlError>;

    /// Extends the leases of the commands a worker runs; returns one answer per command, in order.
    async fn heartbeat(
        &self,
        worker: &WorkerId,
        held: &[Held],
    ) -> Result<Vec<HeartbeatAnswer>, ControlError>;

    /// Records the results of commands; returns one answer per report, in order, once durable.
    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportAnswer>, ControlError>;

    /// Stores output of running tools; returns one answer per batch, in order. Chunks that are stored
    /// already are skipped, so a repeated call changes nothing. Stores nothing by default.
    async fn logs(&self, batches: &[LogBatch]) -> Result<Vec<LogAnswer>, ControlError> {
        Ok(vec![LogAnswer::Unknown; batches.len()])
    }

    /// Loads a payload that is too large to be sent with a lease, for a command.
    async fn payload(&self, held: Held, reference: &PayloadRef)
    -> Result<Arc<Value>, ControlError>;

    /// Loads a result by the name it was stored under, `noetl://execution/…`. Fails with
    /// `ResultMissing` by default.
    async fn named_result(&self, _held: Held, name: &str) -> Result<Arc<Value>, ControlError> {
        Err(ControlError::ResultMissing(name.to_owned()))
    }

    /// Registers a worker. Workers repeat the call; a worker that stops repeating it becomes
    /// offline.
    async fn announce(&self, notice: &WorkerNotice) -> Result<(), ControlError>;

    /// Gives back all commands that a worker holds, because it ends. Idempotent.
    async fn release(&self, worker: &WorkerId) -> Result<(), ControlError>;

    /// Loads the fields of a credential, including `type`, for a command. Fails with
    /// `CredentialMissing` by default.
    async fn credential(
        &self,
        _held: Held,
        alias: &str,
    ) -> Result<Map<String, Value>, ControlError> {
        Err(ControlError::CredentialMissing(alias.to_owned()))
    }

    /// Subscribes to cancellations of commands. Only a hint: the next heartbeat also reports them.
    fn cancellations(&self) -> broadcast::Receiver<Cancellation>;
}

/// A worker's registration: its id, pool and capacity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerNotice {
    pub worker: WorkerId,
    /// The pool whose commands the worker takes.
    pub pool: Pool,
    /// Number of commands the worker runs at once.
    pub slots: usize,
}

/// A worker's request for commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    pub worker: WorkerId,
    pub pool: Pool,
    pub scope: LeaseScope,
    /// Maximum number of commands to lease.
    pub max: usize,
    /// Maximum wait for the first command.
    pub wait: Duration,
}

/// A command that its worker should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancellation {
    pub execution: ExecutionId,
    pub command: CommandId,
}

/// The error of a call to the control plane.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The control plane cannot be reached or is overloaded; retrying may help.
    #[error("the control plane is unavailable")]
    Unavailable(#[source] Box<dyn StdError + Send + Sync>),
    /// A referenced payload does not exist.
    #[error("there is no payload {}", .0.digest)]
    PayloadMissing(PayloadRef),
    /// No credential has this alias.
    #[error("there is no credential `{0}`")]
    CredentialMissing(String),
    #[error("there is no result `{0}`")]
    ResultMissing(String),
    /// The control plane rejected the request; retrying does not help.
    #[error("the control plane refused: {reason}")]
    Refused { reason: String },
}

impl ControlError {
    pub fn unavailable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }
}
