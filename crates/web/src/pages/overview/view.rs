//! The values of the first page.

use std::time::Duration;

use noetl_api::wire::{
    ExecutionHistogram, FeedDeliveryView, FeedView, OutboxMessage, ScheduleView,
};
use noetl_app::{ExecutionFilter, ExecutionQuery, HistogramQuery, PoolQueue};
use noetl_model::{ExecutionStatus, Timestamp};

use crate::components::execution_table::{count_executions, listed, query_executions};
use crate::components::progress::ExecutionLine;
use crate::error::PageError;
use crate::request::PageRequest;

/// Number of executions in each list.
const LISTED: usize = 10;
/// Number of failed executions that ask for attention.
const FAILED: usize = 5;
/// Number up to which approvals are counted.
const APPROVALS: usize = 100;
/// Age up to which a failed execution asks for attention.
const FAILED_WITHIN: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug)]
pub(super) struct OverviewView {
    pub(super) attention: Attention,
    pub(super) running: Vec<ExecutionLine>,
    /// The last day by status.
    pub(super) day: Option<ExecutionHistogram>,
    pub(super) recent: Vec<ExecutionLine>,
}

/// Everything that asks for attention.
#[derive(Debug)]
pub(super) struct Attention {
    pub(super) failed: Vec<ExecutionLine>,
    /// The number of approvals that wait for a person, up to [`APPROVALS`].
    pub(super) approvals: usize,
    /// Pools with commands and no worker.
    pub(super) pools: Vec<PoolQueue>,
    /// Schedules that cannot start executions.
    pub(super) schedules: Vec<ScheduleView>,
    /// Messages that are not tried again by themselves.
    pub(super) dead: Vec<OutboxMessage>,
    /// Feeds whose delivery has ended.
    pub(super) feeds: Vec<FeedView>,
}

impl Attention {
    pub(super) fn is_empty(&self) -> bool {
        self.failed.is_empty()
            && self.approvals == 0
            && self.pools.is_empty()
            && self.schedules.is_empty()
            && self.dead.is_empty()
            && self.feeds.is_empty()
    }

    async fn load(page: &PageRequest) -> Result<Self, PageError> {
        let app = page.app();
        let mut pools = app.pool_queues().await?;
        pools.retain(|pool| !pool.is_served);
        let mut schedules = app.list_schedules().await?.schedules;
        schedules.retain(|schedule| schedule.trouble.is_some());
        let mut feeds = app.list_feeds().await?.feeds;
        feeds.retain(|feed| matches!(feed.delivery, Some(FeedDeliveryView::Dead { .. })));
        let since = page.now.as_micros() - i64::try_from(FAILED_WITHIN.as_micros()).unwrap_or(0);
        let failed = with_status(Some(ExecutionStatus::Failed), FAILED);
        let failed =
            ExecutionQuery { started_after: Some(Timestamp::from_micros(since)), ..failed };
        Ok(Self {
            failed: executions(page, failed).await?,
            approvals: app.count_open_approvals(APPROVALS).await?,
            pools,
            schedules,
            dead: app.list_messages(Some("DEAD"), 0, Some(LISTED)).await?.messages,
            feeds,
        })
    }
}

impl OverviewView {
    pub(super) async fn load(page: &PageRequest) -> Result<Self, PageError> {
        Ok(Self {
            attention: Attention::load(page).await?,
            running: executions(page, with_status(Some(ExecutionStatus::Running), LISTED)).await?,
            day: count_executions(page, &HistogramQuery::default()).await?,
            recent: executions(page, with_status(None, LISTED)).await?,
        })
    }
}

fn with_status(status: Option<ExecutionStatus>, limit: usize) -> ExecutionQuery {
    let filter = ExecutionFilter { status, ..ExecutionFilter::default() };
    ExecutionQuery { filter, limit: Some(limit), ..ExecutionQuery::default() }
}

async fn executions(
    page: &PageRequest,
    query: ExecutionQuery,
) -> Result<Vec<ExecutionLine>, PageError> {
    listed(page, query_executions(page, &query).await?.executions).await
}
