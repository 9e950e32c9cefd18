//! Figures for a dashboard.

use noetl_api::wire::WORKER_KIND;
use noetl_model::{ExecutionStatus, Summary};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page, StoreError};

use crate::app::App;
use crate::catalog::PATHS_MAX;

/// Maximum count of executions per status.
const COUNTED_MAX: u64 = 100_000;

/// Numbers of executions, playbooks and workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DashboardCounts {
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub running: u64,
    pub playbooks: usize,
    /// Workers that are online.
    pub workers: usize,
    /// The largest number that is counted per status.
    pub counted_max: u64,
    /// True if a count has reached its maximum, so that there may be more.
    pub is_bounded: bool,
}

/// The newest executions.
#[derive(Debug, Clone)]
pub struct NewestExecutions {
    /// Newest first.
    pub executions: Vec<Summary>,
    /// The largest number of executions returned.
    pub max: usize,
}

impl App {
    /// Counts executions, playbooks and workers.
    pub async fn dashboard_counts(&self) -> Result<DashboardCounts, StoreError> {
        let count = |status| self.store().count(status, COUNTED_MAX);
        let (completed, failed, cancelled, running) = tokio::try_join!(
            count(ExecutionStatus::Completed),
            count(ExecutionStatus::Failed),
            count(ExecutionStatus::Cancelled),
            count(ExecutionStatus::Running),
        )?;
        let playbooks = self.newest_entries(PATHS_MAX).await?.len();
        let silence = self.worker_silence();
        let (now, workers) = (self.now(), self.records().runtimes(WORKER_KIND).await?);
        let counts = [completed, failed, cancelled, running];
        Ok(DashboardCounts {
            completed,
            failed,
            cancelled,
            running,
            playbooks,
            workers: workers.iter().filter(|it| now.since(it.heartbeat) <= silence).count(),
            counted_max: COUNTED_MAX,
            is_bounded: counts.contains(&COUNTED_MAX) || playbooks == PATHS_MAX,
        })
    }

    /// Loads the newest executions.
    pub async fn newest_executions(&self) -> Result<NewestExecutions, StoreError> {
        let page = Page { before: None, limit: PAGE_MAX };
        let executions = self.control().list(&ExecutionFilter::default(), page).await?;
        Ok(NewestExecutions { executions, max: PAGE_MAX })
    }
}
