//! The control plane interface for a worker in the same process.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_api::{Cancellation, ControlError, ControlPlane, LeaseRequest, WorkerNotice};
use noetl_app::{App, FoundSecret, ResultError, SecretError};
use noetl_bus::{Bus, Hint};
use noetl_control::PayloadError;
use noetl_model::{
    HeartbeatAnswer, Held, Lease, LogAnswer, LogBatch, PayloadRef, Report, ReportAnswer, WorkerId,
};
use noetl_secrets::{SecretAccess, SecretOperation, VaultError};
use serde_json::{Map, Value};
use tokio::sync::broadcast;

/// The most cancellations buffered for a slow worker.
const CANCELLATIONS_MAX: usize = 1024;

/// A control plane in this process.
pub(crate) struct Embedded {
    app: App,
    cancellations: broadcast::Sender<Cancellation>,
}

impl Embedded {
    pub(crate) fn new(app: App) -> Self {
        Self { app, cancellations: broadcast::Sender::new(CANCELLATIONS_MAX) }
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
        self.app.lease_commands(request).await.map_err(ControlError::unavailable)
    }

    async fn heartbeat(
        &self,
        _worker: &WorkerId,
        held: &[Held],
    ) -> Result<Vec<HeartbeatAnswer>, ControlError> {
        self.app.extend_leases(held).await.map_err(ControlError::unavailable)
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportAnswer>, ControlError> {
        self.app.report_commands(reports.to_vec()).await.map_err(ControlError::unavailable)
    }

    async fn logs(&self, batches: &[LogBatch]) -> Result<Vec<LogAnswer>, ControlError> {
        self.app.store_logs(batches).await.map_err(ControlError::unavailable)
    }

    async fn payload(
        &self,
        _held: Held,
        reference: &PayloadRef,
    ) -> Result<Arc<Value>, ControlError> {
        self.app.control().payload(reference.digest).await.map_err(|error| match error {
            PayloadError::Missing(_) => ControlError::PayloadMissing(*reference),
            PayloadError::Damaged(_) => ControlError::Refused { reason: error.to_string() },
            PayloadError::Unavailable(_) => ControlError::unavailable(error),
        })
    }

    async fn named_result(&self, _held: Held, name: &str) -> Result<Arc<Value>, ControlError> {
        self.app.result(name).await.map_err(|error| match error {
            ResultError::Unknown => ControlError::ResultMissing(name.to_owned()),
            ResultError::Store(_) | ResultError::Payload(PayloadError::Unavailable(_)) => {
                ControlError::unavailable(error)
            }
            ResultError::Reference(_)
            | ResultError::Load(_)
            | ResultError::InvalidName
            | ResultError::TooNested
            | ResultError::TooLarge(_)
            | ResultError::Payload(PayloadError::Missing(_) | PayloadError::Damaged(_)) => {
                ControlError::Refused { reason: error.to_string() }
            }
        })
    }

    async fn announce(&self, notice: &WorkerNotice) -> Result<(), ControlError> {
        self.app.announce_worker(notice).await.map_err(ControlError::unavailable)
    }

    async fn release(&self, worker: &WorkerId) -> Result<(), ControlError> {
        self.app.release_worker(worker).await.map(drop).map_err(ControlError::unavailable)
    }

    async fn credential(
        &self,
        held: Held,
        alias: &str,
    ) -> Result<Map<String, Value>, ControlError> {
        let access = SecretAccess { execution: Some(held.execution), ..SecretAccess::default() };
        let found = self.app.secrets().find_named(alias, SecretOperation::Read, &access).await;
        found.map(FoundSecret::fields).map_err(|error| match error {
            SecretError::Unknown(alias) => ControlError::CredentialMissing(alias),
            SecretError::NotNamed(_)
            | SecretError::NotPermitted(_)
            | SecretError::Unsupported { .. }
            | SecretError::Entry { .. } => ControlError::Refused { reason: error.to_string() },
            SecretError::Vault(VaultError::Unreadable { .. }) => {
                ControlError::Refused { reason: format!("{:#}", anyhow::Error::from(error)) }
            }
            SecretError::Vault(_) | SecretError::Load(_) | SecretError::Payload(_) => {
                ControlError::unavailable(error)
            }
        })
    }

    fn cancellations(&self) -> broadcast::Receiver<Cancellation> {
        self.cancellations.subscribe()
    }
}
