//! The control plane interface for a worker in the same process.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_api::{
    Cancellation, ControlError, ControlPlane, HeartbeatAnswer, Held, LeaseRequest, LostReason,
    ReportAnswer, WorkerNotice,
};
use noetl_bus::{Bus, Hint};
use noetl_control::{Control, Heartbeat, PayloadError};
use noetl_model::{ExecutionId, IdGenerator, Lease, PayloadRef, Report, WorkerId};
use noetl_secrets::{Access, Operation, VaultError};
use noetl_server::{Found, Lookup, NotFound, announce_worker, forget_worker};
use noetl_store::{Clock, NoResultRef, Records};
use serde_json::{Map, Value};
use tokio::sync::broadcast;

/// The most cancellations buffered for a slow worker.
const CANCELLATIONS_MAX: usize = 1024;

/// A control plane in this process.
pub(crate) struct Embedded {
    control: Control,
    lookup: Lookup,
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    ids: Arc<IdGenerator>,
    cancellations: broadcast::Sender<Cancellation>,
}

impl Embedded {
    pub(crate) fn new(
        lookup: Lookup,
        records: Arc<dyn Records>,
        clock: Arc<dyn Clock>,
        ids: Arc<IdGenerator>,
    ) -> Self {
        let cancellations = broadcast::Sender::new(CANCELLATIONS_MAX);
        Self { control: lookup.control.clone(), lookup, records, clock, ids, cancellations }
    }

    /// Forwards cancellations from the bus to the worker, for as long as the future is awaited.
    pub(crate) async fn hear(self: Arc<Self>, bus: Arc<dyn Bus>) {
        let mut hints = bus.subscribe();
        loop {
            match hints.next().await {
                Hint::CommandCancelled { execution, command } => {
                    // There is no receiver before the worker has begun or after it has ended.
                    let _unheard = self.cancellations.send(Cancellation { execution, command });
                }
                // A missed cancellation is found by the next heartbeat.
                Hint::CommandReady { .. } | Hint::ExecutionAdvanced { .. } | Hint::LookAgain => {}
            }
        }
    }
}

#[async_trait]
impl ControlPlane for Embedded {
    async fn lease(&self, request: LeaseRequest) -> Result<Vec<Lease>, ControlError> {
        let LeaseRequest { worker, pool, scope, max, wait } = request;
        let leased = self.control.lease_from(scope, &worker, &pool, max, wait);
        leased.await.map_err(ControlError::unavailable)
    }

    async fn heartbeat(
        &self,
        _worker: &WorkerId,
        held: &[Held],
    ) -> Result<Vec<HeartbeatAnswer>, ControlError> {
        let held: Vec<noetl_store::Held> = held
            .iter()
            .map(|&Held { execution, command, attempt }| noetl_store::Held {
                execution,
                command,
                attempt,
            })
            .collect();
        let answers = self.control.heartbeat(&held).await.map_err(ControlError::unavailable)?;
        Ok(answers
            .into_iter()
            .map(|answer| match answer {
                Heartbeat::Extended { until } => HeartbeatAnswer::Extended { until },
                Heartbeat::Superseded => HeartbeatAnswer::Lost(LostReason::Superseded),
                Heartbeat::Gone => HeartbeatAnswer::Lost(LostReason::Finished),
            })
            .collect())
    }

    async fn report(&self, reports: Vec<Report>) -> Result<Vec<ReportAnswer>, ControlError> {
        let answers = self.control.report_all(reports).await;
        answers
            .into_iter()
            .map(|answer| match answer {
                Ok(noetl_control::ReportAnswer::Accepted) => Ok(ReportAnswer::Accepted),
                Ok(noetl_control::ReportAnswer::Continued(next)) => {
                    Ok(ReportAnswer::Continued(next))
                }
                Ok(noetl_control::ReportAnswer::Superseded) => Ok(ReportAnswer::Superseded),
                Ok(noetl_control::ReportAnswer::Unknown) => Ok(ReportAnswer::Unknown),
                // Reports are idempotent, so if one fails the worker repeats them all.
                Err(error) => Err(ControlError::unavailable(error)),
            })
            .collect()
    }

    async fn payload(&self, reference: &PayloadRef) -> Result<Arc<Value>, ControlError> {
        self.control.payload(reference.digest).await.map_err(|error| match error {
            PayloadError::Missing(_) => ControlError::PayloadMissing(*reference),
            PayloadError::Damaged(_) => ControlError::Refused { reason: error.to_string() },
            PayloadError::Unavailable(_) => ControlError::unavailable(error),
        })
    }

    async fn named_result(&self, name: &str) -> Result<Arc<Value>, ControlError> {
        let refused = |error: NoResultRef| ControlError::Refused { reason: error.to_string() };
        let reference = name.parse().map_err(refused)?;
        let found = self.records.result(&reference, self.clock.now()).await;
        let missing = || ControlError::ResultMissing(name.to_owned());
        let result = found.map_err(ControlError::unavailable)?.ok_or_else(missing)?;
        self.control.payload(result.digest).await.map_err(|error| match error {
            PayloadError::Missing(_) => missing(),
            PayloadError::Damaged(_) => ControlError::Refused { reason: error.to_string() },
            PayloadError::Unavailable(_) => ControlError::unavailable(error),
        })
    }

    async fn announce(&self, notice: &WorkerNotice) -> Result<(), ControlError> {
        let now = self.clock.now();
        let kept = announce_worker(&*self.records, self.ids.next(now), now, notice).await;
        kept.map_err(ControlError::unavailable)
    }

    async fn release(&self, worker: &WorkerId) -> Result<(), ControlError> {
        self.control.release(worker).await.map_err(ControlError::unavailable)?;
        forget_worker(&*self.records, worker).await.map_err(ControlError::unavailable)
    }

    async fn credential(
        &self,
        execution: ExecutionId,
        alias: &str,
    ) -> Result<Map<String, Value>, ControlError> {
        let access = Access { execution: Some(execution), ..Access::default() };
        let found = self.lookup.find(alias, Operation::Read, &access).await;
        found.map(Found::fields).map_err(|error| match error {
            NotFound::Unknown(alias) => ControlError::CredentialMissing(alias),
            NotFound::Unsupported { .. } | NotFound::Entry { .. } => {
                ControlError::Refused { reason: error.to_string() }
            }
            NotFound::Vault(VaultError::Unreadable { .. }) => {
                ControlError::Refused { reason: format!("{:#}", anyhow::Error::from(error)) }
            }
            NotFound::Vault(_) | NotFound::Load(_) | NotFound::Payload(_) => {
                ControlError::unavailable(error)
            }
        })
    }

    fn cancellations(&self) -> broadcast::Receiver<Cancellation> {
        self.cancellations.subscribe()
    }
}
