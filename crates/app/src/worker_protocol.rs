//! The native worker protocol: leases, heartbeats and reports, many at a time.

use futures::future::join_all;
use noetl_api::LeaseRequest;
use noetl_control::SubmitError;
use noetl_model::{HeartbeatAnswer, Held, Lease, Report, ReportAnswer, WorkerId};
use noetl_store::StoreError;

use crate::app::App;

impl App {
    /// Leases commands; waits for the first one up to the time that the request names.
    pub async fn lease_commands(&self, request: LeaseRequest) -> Result<Vec<Lease>, StoreError> {
        let LeaseRequest { worker, pool, scope, max, wait } = request;
        let leases = self.control().lease_from(scope, &worker, &pool, max, wait).await?;
        let opened = join_all(leases.into_iter().map(|lease| self.with_secrets(lease))).await;
        Ok(opened.into_iter().map(|lease| self.with_lease_secret(&worker, lease)).collect())
    }

    /// Extends the leases of a worker's commands; returns one answer per command, in order.
    pub async fn extend_leases(&self, held: &[Held]) -> Result<Vec<HeartbeatAnswer>, StoreError> {
        self.control().heartbeat(held).await
    }

    /// Records the results of commands; returns one answer per report, in order. Reports are
    /// idempotent: if one fails, the worker repeats all of them.
    pub async fn report_commands(
        &self,
        reports: Vec<Report>,
    ) -> Result<Vec<ReportAnswer>, SubmitError> {
        let workers: Vec<WorkerId> = reports.iter().map(|report| report.worker.clone()).collect();
        let answers = self.control().report_all(reports).await;
        let mut opened = Vec::with_capacity(answers.len());
        for (answer, worker) in answers.into_iter().zip(&workers) {
            opened.push(match answer? {
                ReportAnswer::Continued(lease) => {
                    let lease = self.with_secrets(*lease).await;
                    ReportAnswer::Continued(Box::new(self.with_lease_secret(worker, lease)))
                }
                answer @ (ReportAnswer::Accepted
                | ReportAnswer::Superseded
                | ReportAnswer::Unknown
                | ReportAnswer::Refused { .. }) => answer,
            });
        }
        Ok(opened)
    }
}
