//! Telling the control plane how commands ended: many at once, again and again until answered.

use std::io;
use std::sync::Arc;

use noetl_api::{ControlError, ControlPlane, ReportAnswer};
use noetl_model::{ErrorKind, Logs, Outcome, Report, ToolError};
use tokio::sync::mpsc;

use crate::backoff::Backoff;
use crate::holding::{Holding, held_of};

/// How many reports travel together.
const BATCH_MAX: usize = 256;
/// How many bytes of reports travel together; one that is larger travels alone, so that whoever takes
/// them in need not hold many large ones at once.
const BATCH_BYTES_MAX: usize = 256 * 1024;
/// How many reports wait to be sent before finished commands keep their slots.
pub(crate) const WAITING_MAX: usize = 1024;

/// Sends reports until there are no more to come.
pub(crate) struct Reporter {
    pub(crate) control: Arc<dyn ControlPlane>,
    pub(crate) holding: Arc<Holding>,
}

impl Reporter {
    pub(crate) async fn run(self, mut waiting: mpsc::Receiver<Report>) {
        let mut batch = Vec::new();
        while 0 < waiting.recv_many(&mut batch, BATCH_MAX).await {
            for reports in of_bounded_size(std::mem::take(&mut batch)) {
                self.deliver(reports).await;
            }
        }
    }

    async fn deliver(&self, reports: Vec<Report>) {
        let refused = self.send(reports).await;
        if refused.is_empty() {
            return;
        }
        // The command has to end all the same.
        for report in self.send(refused).await {
            tracing::error!(command = ?held_of(&report), "report refused for good");
            self.holding.release(&held_of(&report));
        }
    }

    /// Sends some reports; gives, for those that are refused, reports that say so.
    async fn send(&self, reports: Vec<Report>) -> Vec<Report> {
        let answers = match self.send_until_answered(&reports).await {
            Ok(answers) => answers,
            Err(reason) => vec![ReportAnswer::Refused { reason }; reports.len()],
        };
        let mut refused = Vec::new();
        for (report, answer) in reports.into_iter().zip(answers) {
            let held = held_of(&report);
            match answer {
                ReportAnswer::Accepted => self.holding.release(&held),
                ReportAnswer::Superseded | ReportAnswer::Unknown => {
                    tracing::info!(?held, ?answer, "report changed nothing");
                    self.holding.release(&held);
                }
                ReportAnswer::Refused { reason } => {
                    tracing::warn!(?held, reason, "report refused");
                    refused.push(refusal(report, &reason));
                }
            }
        }
        refused
    }

    /// The answers, however long they take; or why all are refused.
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

/// The reports in parts that are not too large, in order.
fn of_bounded_size(reports: Vec<Report>) -> Vec<Vec<Report>> {
    let mut parts: Vec<Vec<Report>> = Vec::new();
    let mut left = 0;
    for report in reports {
        let size = length(&report);
        match parts.last_mut() {
            Some(part) if size <= left => part.push(report),
            Some(_) | None => {
                parts.push(vec![report]);
                left = BATCH_BYTES_MAX;
            }
        }
        left = left.saturating_sub(size);
    }
    parts
}

/// The length of a report's JSON.
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

/// The report of a command whose own report is not wanted.
fn refusal(report: Report, reason: &str) -> Report {
    let message = format!("the control plane refused the report: {reason}");
    let error = ToolError::new(ErrorKind::Unknown, message);
    Report { outcome: Outcome::Failed { error, output: None }, logs: Logs::default(), ..report }
}

#[cfg(test)]
mod tests {
    use noetl_model::{Attempt, CommandId, ExecutionId, WorkerId};
    use serde_json::json;

    use super::*;

    fn report(size: usize) -> Report {
        Report {
            execution: ExecutionId(1),
            command: CommandId(1),
            attempt: Attempt(1),
            worker: WorkerId::new("w"),
            outcome: Outcome::Completed { output: json!("x".repeat(size)) },
            logs: Logs::default(),
        }
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
