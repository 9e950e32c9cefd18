//! The control plane as the worker of a measurement sees it: each report is counted as it comes in.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use noetl_api::{
    Cancellation, ControlError, ControlPlane, HeartbeatAnswer, Held, LeaseRequest, LostReason,
    ReportAnswer,
};
use noetl_control::{Control, Heartbeat};
use noetl_model::{Lease, PayloadRef, Report, WorkerId};
use serde_json::Value;
use tokio::sync::broadcast;

use crate::machine::Usage;

/// After how many reports the machine is looked at.
pub(crate) const MARK_EVERY: u64 = 1000;

pub(crate) struct Plane {
    control: Control,
    /// Nothing is cancelled here; the sender keeps receivers from being told that all is over.
    cancellations: broadcast::Sender<Cancellation>,
    reports: AtomicU64,
    marks: Mutex<Vec<Usage>>,
}

impl Plane {
    pub(crate) fn new(control: Control) -> Self {
        let cancellations = broadcast::Sender::new(1);
        Self { control, cancellations, reports: AtomicU64::new(0), marks: Mutex::default() }
    }

    /// The machine after each [`MARK_EVERY`] reports.
    pub(crate) fn marks(&self) -> Vec<Usage> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, reports: usize) -> Result<(), ControlError> {
        let reports = u64::try_from(reports).map_err(ControlError::unavailable)?;
        let before = self.reports.fetch_add(reports, Ordering::Relaxed);
        if before / MARK_EVERY != (before + reports) / MARK_EVERY {
            let usage = Usage::now().map_err(ControlError::unavailable)?;
            self.marks.lock().unwrap_or_else(PoisonError::into_inner).push(usage);
        }
        Ok(())
    }
}

#[async_trait]
impl ControlPlane for Plane {
    async fn lease(&self, request: LeaseRequest) -> Result<Vec<Lease>, ControlError> {
        let LeaseRequest { worker, pool, max, wait } = request;
        self.control.lease(&worker, &pool, max, wait).await.map_err(ControlError::unavailable)
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
        self.count(reports.len())?;
        let answers = self.control.report_all(reports).await.into_iter();
        answers
            .map(|answer| match answer.map_err(ControlError::unavailable)? {
                noetl_control::ReportAnswer::Accepted => Ok(ReportAnswer::Accepted),
                noetl_control::ReportAnswer::Superseded => Ok(ReportAnswer::Superseded),
                noetl_control::ReportAnswer::Unknown => Ok(ReportAnswer::Unknown),
            })
            .collect()
    }

    async fn payload(&self, reference: &PayloadRef) -> Result<Arc<Value>, ControlError> {
        self.control.payload(reference.digest).await.map_err(ControlError::unavailable)
    }

    async fn release(&self, worker: &WorkerId) -> Result<(), ControlError> {
        self.control.release(worker).await.map(drop).map_err(ControlError::unavailable)
    }

    fn cancellations(&self) -> broadcast::Receiver<Cancellation> {
        self.cancellations.subscribe()
    }
}
