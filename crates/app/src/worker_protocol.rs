//! The native worker protocol: leases, heartbeats and reports, many at a time.

use noetl_api::{HeartbeatAnswer, Held, LeaseRequest, LostReason, ReportAnswer};
use noetl_control::{Heartbeat, SubmitError};
use noetl_model::{Lease, Report};
use noetl_store::StoreError;

use crate::app::App;

impl App {
    /// Leases commands; waits for the first one up to the time that the request names.
    pub async fn lease_commands(&self, request: LeaseRequest) -> Result<Vec<Lease>, StoreError> {
        let LeaseRequest { worker, pool, scope, max, wait } = request;
        self.control().lease_from(scope, &worker, &pool, max, wait).await
    }

    /// Extends the leases of a worker's commands; returns one answer per command, in order.
    pub async fn extend_leases(&self, held: &[Held]) -> Result<Vec<HeartbeatAnswer>, StoreError> {
        let held = held.iter().map(|&Held { execution, command, attempt }| noetl_store::Held {
            execution,
            command,
            attempt,
        });
        let answers = self.control().heartbeat(&held.collect::<Vec<_>>()).await?;
        let answers = answers.into_iter().map(|answer| match answer {
            Heartbeat::Extended { until } => HeartbeatAnswer::Extended { until },
            Heartbeat::Superseded => HeartbeatAnswer::Lost(LostReason::Superseded),
            Heartbeat::Gone => HeartbeatAnswer::Lost(LostReason::Finished),
        });
        Ok(answers.collect())
    }

    /// Records the results of commands; returns one answer per report, in order. Reports are
    /// idempotent: if one fails, the worker repeats all of them.
    pub async fn report_commands(
        &self,
        reports: Vec<Report>,
    ) -> Result<Vec<ReportAnswer>, SubmitError> {
        let answers = self.control().report_all(reports).await.into_iter();
        let answers = answers.map(|answer| {
            Ok(match answer? {
                noetl_control::ReportAnswer::Accepted => ReportAnswer::Accepted,
                noetl_control::ReportAnswer::Continued(lease) => ReportAnswer::Continued(lease),
                noetl_control::ReportAnswer::Superseded => ReportAnswer::Superseded,
                noetl_control::ReportAnswer::Unknown => ReportAnswer::Unknown,
            })
        });
        answers.collect()
    }
}
