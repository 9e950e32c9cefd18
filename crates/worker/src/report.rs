//! Sends reports to the control plane in batches and retries until they are answered.

use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt as _};
use noetl_api::{ControlError, ControlPlane};
use noetl_model::{ErrorKind, Held, Lease, Logs, Outcome, Report, ReportAnswer, ToolError};
use noetl_tools::CallMemory;
use tokio::sync::{mpsc, oneshot};

use crate::backoff::Backoff;
use crate::holding::{Assigned, HeldCommands};
use crate::unsent::{Lane, Unsent};

/// The most reports in one batch.
pub(crate) const BATCH_MAX: usize = 256;
/// The most reports waiting to be sent; beyond that, finished commands keep their slots.
pub(crate) const WAITING_MAX: usize = 1024;

/// A report to send, and the channel for the follow-up command, if its slot waits for one.
pub(crate) struct QueuedReport {
    pub(crate) report: Report,
    /// Held until the report has been answered.
    pub(crate) memory: CallMemory,
    pub(crate) next: Option<oneshot::Sender<Assigned>>,
}

/// Sends reports until the channel is closed.
pub(crate) struct Reporter {
    pub(crate) control: Arc<dyn ControlPlane>,
    pub(crate) holding: Arc<HeldCommands>,
}

impl Reporter {
    pub(crate) async fn run(self, mut waiting: mpsc::Receiver<QueuedReport>) {
        let mut received = Vec::new();
        let mut unsent = Unsent::default();
        let mut deliveries = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(lane) = deliveries.next() => unsent.answered(lane),
                count = waiting.recv_many(&mut received, BATCH_MAX), if unsent.len() < WAITING_MAX => {
                    if count == 0 {
                        break;
                    }
                    // Gives commands that end at the same time a chance to be reported together.
                    if !self.holding.is_single() {
                        tokio::task::yield_now().await;
                    }
                    while received.len() < BATCH_MAX && let Ok(more) = waiting.try_recv() {
                        received.push(more);
                    }
                    received.drain(..).for_each(|it| unsent.add(it.report.execution, it));
                }
            }
            while let Some((lane, batch)) = unsent.next_batch() {
                deliveries.push(self.deliver_in(lane, batch));
            }
        }
        while let Some(lane) = deliveries.next().await {
            unsent.answered(lane);
            while let Some((lane, batch)) = unsent.next_batch() {
                deliveries.push(self.deliver_in(lane, batch));
            }
        }
    }

    async fn deliver_in(&self, lane: Lane, batch: Vec<QueuedReport>) -> Lane {
        self.deliver(batch).await;
        lane
    }

    async fn deliver(&self, batch: Vec<QueuedReport>) {
        // A command whose report is refused has to end, so a failure with the reason of the refusal
        // is reported instead.
        for QueuedReport { report, .. } in self.send(self.send(batch).await).await {
            let held = Held::from(&report);
            tracing::error!(command = ?held, "report refused for good");
            self.holding.release(&held);
        }
    }

    /// Sends some reports; returns a failure report for each one that is refused.
    async fn send(&self, batch: Vec<QueuedReport>) -> Vec<QueuedReport> {
        if batch.is_empty() {
            return batch;
        }
        let (reports, waiting): (Vec<Report>, Vec<_>) = batch
            .into_iter()
            .map(|QueuedReport { report, memory, next }| (report, (memory, next)))
            .unzip();
        let answers = match self.send_until_answered(&reports).await {
            Ok(answers) => answers,
            Err(reason) => vec![ReportAnswer::Refused { reason }; reports.len()],
        };
        let mut refused = Vec::new();
        for ((report, (memory, next)), answer) in reports.into_iter().zip(waiting).zip(answers) {
            let held = Held::from(&report);
            match answer {
                ReportAnswer::Accepted => self.holding.release(&held),
                ReportAnswer::Continued(lease) => {
                    self.holding.release(&held);
                    self.assign(*lease, next);
                }
                ReportAnswer::Superseded | ReportAnswer::Unknown => {
                    tracing::info!(?held, ?answer, "report changed nothing");
                    self.holding.release(&held);
                }
                ReportAnswer::Refused { reason } => {
                    tracing::warn!(?held, reason, "report refused");
                    refused.push(QueuedReport { report: refusal(report, &reason), memory, next });
                }
            }
        }
        refused
    }

    /// Passes a follow-up command to the slot that waits for it. The command is registered as held
    /// first, so that no heartbeat misses it.
    fn assign(&self, lease: Lease, next: Option<oneshot::Sender<Assigned>>) {
        let assigned = self.holding.assign(lease);
        let returned = match next {
            Some(next) => next.send(assigned).err(),
            None => Some(assigned),
        };
        if let Some(Assigned { lease, .. }) = returned {
            let (execution, command) = (lease.execution, lease.command);
            tracing::info!(%execution, %command, "no slot waits for the next command; its lease is released");
            self.holding.release(&Held::from(&lease));
        }
    }

    /// Sends until the control plane answers; fails with the reason if it refuses all of them.
    async fn send_until_answered(&self, reports: &[Report]) -> Result<Vec<ReportAnswer>, String> {
        let mut backoff = Backoff::new();
        loop {
            match self.control.report(reports).await {
                Ok(answers) => return Ok(answers),
                Err(error @ ControlError::Unavailable(_)) => {
                    tracing::warn!(%error, reports = reports.len(), "report failed; will retry");
                    backoff.wait().await;
                }
                Err(
                    error @ (ControlError::PayloadMissing(_)
                    | ControlError::CredentialMissing(_)
                    | ControlError::ResultMissing(_)
                    | ControlError::Refused { .. }),
                ) => return Err(error.to_string()),
            }
        }
    }
}

/// Returns the failure report of a command whose own report was refused.
fn refusal(report: Report, reason: &str) -> Report {
    let message = format!("the control plane refused the report: {reason}");
    let error = ToolError::new(ErrorKind::Unknown, message);
    Report { outcome: Outcome::failed(error), logs: Logs::default(), ..report }
}
