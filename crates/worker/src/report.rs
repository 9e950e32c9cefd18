//! Sends reports to the control plane in batches and retries until they are answered.

use std::io;
use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt as _};
use noetl_api::{ControlError, ControlPlane, ReportAnswer};
use noetl_model::{ErrorKind, Lease, Logs, Outcome, Report, ToolError};
use noetl_tools::CallMemory;
use tokio::sync::{mpsc, oneshot};

use crate::backoff::Backoff;
use crate::holding::{Assigned, Holding, held_by, held_of};
use crate::unsent::{Lane, Unsent};

/// The most reports in one batch.
pub(crate) const BATCH_MAX: usize = 256;
/// The most bytes in one batch, so that the receiver need not hold many large reports at once. A
/// larger report is sent alone.
const BATCH_BYTES_MAX: usize = 256 * 1024;
/// The most reports waiting to be sent; beyond that, finished commands keep their slots.
pub(crate) const WAITING_MAX: usize = 1024;

/// A report to send, and the channel for the follow-up command, if its slot waits for one.
pub(crate) struct HandedIn {
    pub(crate) report: Report,
    /// Held until the report has been answered.
    pub(crate) memory: CallMemory,
    pub(crate) next: Option<oneshot::Sender<Assigned>>,
}

/// Sends reports until the channel is closed.
pub(crate) struct Reporter {
    pub(crate) control: Arc<dyn ControlPlane>,
    pub(crate) holding: Arc<Holding>,
}

impl Reporter {
    pub(crate) async fn run(self, mut waiting: mpsc::Receiver<HandedIn>) {
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

    async fn deliver_in(&self, lane: Lane, batch: Vec<HandedIn>) -> Lane {
        self.deliver(batch).await;
        lane
    }

    async fn deliver(&self, batch: Vec<HandedIn>) {
        for part in of_bounded_size(batch) {
            // A command whose report is refused must end all the same, so its refusal is reported
            // instead.
            for HandedIn { report, .. } in self.send(self.send(part).await).await {
                tracing::error!(command = ?held_of(&report), "report refused for good");
                self.holding.release(&held_of(&report));
            }
        }
    }

    /// Sends some reports; returns a failure report for each one that is refused.
    async fn send(&self, batch: Vec<HandedIn>) -> Vec<HandedIn> {
        if batch.is_empty() {
            return batch;
        }
        let reports: Vec<Report> = batch.iter().map(|it| it.report.clone()).collect();
        let answers = match self.send_until_answered(&reports).await {
            Ok(answers) => answers,
            Err(reason) => vec![ReportAnswer::Refused { reason }; reports.len()],
        };
        let mut refused = Vec::new();
        for (HandedIn { report, memory, next }, answer) in batch.into_iter().zip(answers) {
            let held = held_of(&report);
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
                    refused.push(HandedIn { report: refusal(report, &reason), memory, next });
                }
            }
        }
        refused
    }

    /// Passes a follow-up command to the slot that waits for it. Held from here on, so that no
    /// heartbeat misses the command.
    fn assign(&self, lease: Lease, next: Option<oneshot::Sender<Assigned>>) {
        let assigned = self.holding.assign(lease);
        let returned = match next {
            Some(next) => next.send(assigned).err(),
            None => Some(assigned),
        };
        if let Some(Assigned { lease, .. }) = returned {
            let (execution, command) = (lease.execution, lease.command);
            tracing::info!(%execution, %command, "handed over too late; given back at the end");
            self.holding.release(&held_by(&lease));
        }
    }

    /// Sends until the control plane answers; fails with the reason if it refuses all of them.
    async fn send_until_answered(&self, reports: &[Report]) -> Result<Vec<ReportAnswer>, String> {
        let mut backoff = Backoff::new();
        loop {
            match self.control.report(reports.to_vec()).await {
                Ok(answers) => return Ok(answers),
                Err(error @ ControlError::Unavailable(_)) => {
                    tracing::warn!(%error, reports = reports.len(), "report failed, will repeat");
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

/// Splits the reports, in order, into batches of at most `BATCH_BYTES_MAX`.
fn of_bounded_size(batch: Vec<HandedIn>) -> Vec<Vec<HandedIn>> {
    let mut parts: Vec<Vec<HandedIn>> = Vec::new();
    let mut left = 0;
    for handed_in in batch {
        let size = length(&handed_in.report);
        match parts.last_mut() {
            Some(part) if size <= left => part.push(handed_in),
            Some(_) | None => {
                parts.push(vec![handed_in]);
                left = BATCH_BYTES_MAX;
            }
        }
        left = left.saturating_sub(size);
    }
    parts
}

/// Returns the length of a report's JSON.
fn length(report: &Report) -> usize {
    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, report) {
        Ok(()) => counted.0,
        Err(_) => usize::MAX,
    }
}

struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the failure report of a command whose own report was refused.
fn refusal(report: Report, reason: &str) -> Report {
    let message = format!("the control plane refused the report: {reason}");
    let error = ToolError::new(ErrorKind::Unknown, message);
    Report { outcome: Outcome::failed(error), logs: Logs::default(), ..report }
}

#[cfg(test)]
mod tests {
    use noetl_model::{Attempt, CommandId, ExecutionId, WorkerId};
    use noetl_tools::MemoryBudget;
    use serde_json::json;

    use super::*;

    fn report(size: usize) -> HandedIn {
        let report = Report {
            execution: ExecutionId(1),
            command: CommandId(1),
            attempt: Attempt(1),
            worker: WorkerId::new("w"),
            outcome: Outcome::completed(json!("x".repeat(size))),
            logs: Logs::default(),
            next: None,
        };
        HandedIn { report, memory: MemoryBudget::default().call(), next: None }
    }

    #[test]
    fn small_reports_travel_together_and_large_ones_alone() {
        let sizes = |sizes: &[usize]| {
            let reports = sizes.iter().map(|size| report(*size)).collect();
            of_bounded_size(reports).iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[]), [0; 0]);
        assert_eq!(sizes(&[1, 1, 1]), [3]);
        assert_eq!(sizes(&[1, 500_000, 1, 1]), [1, 1, 2]);
        assert_eq!(sizes(&[200_000, 200_000, 10_000]), [1, 2]);
    }
}
