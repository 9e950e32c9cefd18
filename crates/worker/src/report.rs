//! Telling the control plane how commands ended: many at once, again and again until answered.

use std::sync::Arc;

use noetl_api::{ControlError, ControlPlane, ReportAnswer};
use noetl_model::{ErrorKind, Logs, Outcome, Report, ToolError};
use tokio::sync::mpsc;

use crate::backoff::Backoff;
use crate::holding::{Holding, held_of};

/// How many reports travel together.
const BATCH_MAX: usize = 256;
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
            let refused = self.send(std::mem::take(&mut batch)).await;
            if refused.is_empty() {
                continue;
            }
            // The command has to end all the same.
            for report in self.send(refused).await {
                tracing::error!(command = ?held_of(&report), "report refused for good");
                self.holding.release(&held_of(&report));
            }
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

/// The report of a command whose own report is not wanted.
fn refusal(report: Report, reason: &str) -> Report {
    let message = format!("the control plane refused the report: {reason}");
    let error = ToolError::new(ErrorKind::Unknown, message);
    Report { outcome: Outcome::Failed { error, output: None }, logs: Logs::default(), ..report }
}
