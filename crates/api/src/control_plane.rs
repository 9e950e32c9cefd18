//! What a worker asks of a control plane, and the one thing it is told unasked.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{
    Attempt, CommandId, ExecutionId, Lease, PayloadRef, Pool, Report, Timestamp, WorkerId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::broadcast;

/// Who hands out commands and takes reports: the control plane in this process, or one far away.
#[async_trait]
pub trait ControlPlane: Send + Sync {
    /// Leases up to `max` commands. Answers as soon as there is one, or with none after `wait`.
    async fn lease(&self, request: LeaseRequest) -> Result<Vec<Lease>, ControlError>;

    /// Extends the leases of the commands a worker runs; one answer for each, in their order.
    async fn heartbeat(
        &self,
        worker: &WorkerId,
        held: &[Held],
    ) -> Result<Vec<HeartbeatAnswer>, ControlError>;

    /// Takes what became of some commands; one answer for each, in their order, once it is durable.
    async fn report(&self, reports: Vec<Report>) -> Result<Vec<ReportAnswer>, ControlError>;

    /// Fetches a value that is too large to travel with a lease.
    async fn payload(&self, reference: &PayloadRef) -> Result<Arc<Value>, ControlError>;

    /// Fetches a result by the name it was stored under, `noetl://execution/…`. Whoever keeps none
    /// says so.
    async fn named_result(&self, name: &str) -> Result<Arc<Value>, ControlError> {
        Err(ControlError::ResultMissing(name.to_owned()))
    }

    /// Notes that a worker is there, and what it is. A worker repeats it; one that is not heard of for a
    /// while counts as offline.
    async fn announce(&self, notice: &WorkerNotice) -> Result<(), ControlError>;

    /// Gives back whatever a worker still holds, since it ends. Saying so twice changes nothing more.
    async fn release(&self, worker: &WorkerId) -> Result<(), ControlError>;

    /// The fields of a credential, `type` among them, for a command of an execution. Whoever keeps
    /// none says so.
    async fn credential(
        &self,
        _execution: ExecutionId,
        alias: &str,
    ) -> Result<Map<String, Value>, ControlError> {
        Err(ControlError::CredentialMissing(alias.to_owned()))
    }

    /// Commands that are cancelled from now on. A hint: one that is missed is told by the next
    /// heartbeat.
    fn cancellations(&self) -> broadcast::Receiver<Cancellation>;
}

/// A worker as it tells a control plane about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerNotice {
    pub worker: WorkerId,
    /// Whose commands it takes.
    pub pool: Pool,
    /// How many commands it runs at once.
    pub slots: usize,
}

/// A worker's wish for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    pub worker: WorkerId,
    pub pool: Pool,
    /// How many commands the worker has room for.
    pub max: usize,
    /// How long to wait for the first of them.
    pub wait: Duration,
}

/// A command in a worker's hands, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Held {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub attempt: Attempt,
}

/// Whether a worker may go on with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeartbeatAnswer {
    Extended { until: Timestamp },
    Lost(LostReason),
}

/// Why a command is no longer the worker's; its report would change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostReason {
    /// A later attempt runs elsewhere.
    Superseded,
    Cancelled,
    /// The command, or its whole execution, has ended.
    Finished,
}

/// What became of a report. Each of these is final: the report is not to be sent again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportAnswer {
    /// Recorded, now or when it came first.
    Accepted,
    /// Recorded, and the worker has what follows: it had said that it has room.
    Continued(Box<Lease>),
    /// The attempt is not the command's latest, or the command was cancelled; nothing changed.
    Superseded,
    /// There is no such command.
    Unknown,
    /// The report itself is at fault, such as an output above the limit.
    Refused { reason: String },
}

/// A command that its runner should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancellation {
    pub execution: ExecutionId,
    pub command: CommandId,
}

/// Why a control plane gave no answer.
#[derive(Debug, Error)]
pub enum ControlError {
    /// It cannot be reached or is not able to work; asking again later may help.
    #[error("the control plane is unavailable")]
    Unavailable(#[source] Box<dyn StdError + Send + Sync>),
    /// A payload that was referred to is not there.
    #[error("there is no payload {}", .0.digest)]
    PayloadMissing(PayloadRef),
    /// There is no credential of this alias.
    #[error("there is no credential `{0}`")]
    CredentialMissing(String),
    #[error("there is no result `{0}`")]
    ResultMissing(String),
    /// It does not do what was asked; asking again does not help.
    #[error("the control plane refused: {reason}")]
    Refused { reason: String },
}

impl ControlError {
    pub fn unavailable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }
}
