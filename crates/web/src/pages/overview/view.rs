//! The values of the first page.

use std::time::Duration;

use noetl_api::wire::{
    ExecutionHistogram, FeedDeliveryView, FeedView, OutboxMessage, ScheduleView, SubscriptionView,
};
use noetl_app::{ExecutionFilter, ExecutionQuery, HistogramQuery, PoolQueue};
use noetl_model::{ExecutionStatus, Timestamp};

use crate::components::execution_table::{count_executions, listed, query_executions};
use crate::components::progress::ExecutionLine;
use crate::error::PageError;
use crate::pages::subscriptions::FAILED_SHOWN_MAX;
use crate::request::PageRequest;

/// Number of executions in each list.
const LISTED: usize = 10;
/// Number of failed executions that ask for attention.
const FAILED: usize = 5;
/// Number of late executions that are listed, and of running ones, the newest first, among which they
/// are looked for.
const LATE: usize = 5;
const LATE_AMONG_MAX: usize = 100;
/// Number up to which approvals are counted.
const APPROVALS: usize = 100;
/// Number of schedules whose events are looked at, and of events of each.
const SCHEDULES_MAX: usize = 20;
const SCHEDULE_EVENTS: usize = 5;
/// Number of subscriptions whose messages are counted.
const SUBSCRIPTIONS_MAX: usize = 20;
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

/// A schedule whose instants did not start executions in time.
#[derive(Debug)]
pub(super) struct DelayedSchedule {
    pub(super) path: String,
    pub(super) kind: DelayKind,
    /// The last of the instants.
    pub(super) until: String,
}

/// The reason why instants did not start executions in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DelayKind {
    /// The execution before them runs.
    Queued,
    /// No server ran at the time.
    Missed,
}

/// A subscription with messages that are not tried again.
#[derive(Debug)]
pub(super) struct DeadLetters {
    pub(super) subscription: SubscriptionView,
    /// The number of messages, up to a limit.
    pub(super) messages: usize,
}

/// Everything that asks for attention.
#[derive(Debug)]
pub(super) struct Attention {
    pub(super) failed: Vec<ExecutionLine>,
    /// Executions that have not ended in the time that their playbooks expect.
    pub(super) late: Vec<ExecutionLine>,
    /// The number of approvals that wait for a person, up to [`APPROVALS`].
    pub(super) approvals: usize,
    /// Pools with commands and no worker.
    pub(super) pools: Vec<PoolQueue>,
    /// Schedules that cannot start executions.
    pub(super) schedules: Vec<ScheduleView>,
    /// The number of pauses of playbooks and pools.
    pub(super) pauses: usize,
    /// The paths of schedules with instants that were missed, or that wait for an execution.
    pub(super) delayed: Vec<DelayedSchedule>,
    /// Subscriptions with messages that have started nothing.
    pub(super) dead_letters: Vec<DeadLetters>,
    /// Messages that are not tried again by themselves.
    pub(super) dead: Vec<OutboxMessage>,
    /// Feeds whose delivery has ended.
    pub(super) feeds: Vec<FeedView>,
}

impl Attention {
    pub(super) fn is_empty(&self) -> bool {
        self.failed.is_empty()
            && self.late.is_empty()
            && self.approvals == 0
            && self.pools.is_empty()
            && self.pauses == 0
            && self.delayed.is_empty()
            && self.dead_letters.is_empty()
            && self.schedules.is_empty()
            && self.dead.is_empty()
            && self.feeds.is_empty()
    }

    async fn load(page: &PageRequest) -> Result<Self, PageError> {
        let app = page.app();
        let mut pools = app.pool_queues().await?;
        pools.retain(|pool| !pool.is_served);
        let mut schedules = app.list_schedules().await?.schedules;
        let delayed = delayed(page, &schedules).await?;
        schedules.retain(|schedule| schedule.trouble.is_some());
        let mut feeds = app.list_feeds().await?.feeds;
        feeds.retain(|feed| matches!(feed.delivery, Some(FeedDeliveryView::Dead { .. })));
        let since = page.now.as_micros() - i64::try_from(FAILED_WITHIN.as_micros()).unwrap_or(0);
        let failed = with_status(Some(ExecutionStatus::Failed), FAILED);
        let failed =
            ExecutionQuery { started_after: Some(Timestamp::from_micros(since)), ..failed };
        Ok(Self {
            failed: executions(page, failed).await?,
            late: late(page).await?,
            approvals: app.count_open_approvals(APPROVALS).await?,
            pools,
            pauses: app.pause_list().await?.pauses.iter().filter(|it| !it.is_ending).count(),
            delayed,
            dead_letters: dead_letters(page).await?,
            schedules,
            dead: app.list_messages(Some("DEAD"), 0, Some(LISTED)).await?.messages,
            feeds,
        })
    }
}

/// Finds executions that are late.
async fn late(page: &PageRequest) -> Result<Vec<ExecutionLine>, PageError> {
    let running = with_status(Some(ExecutionStatus::Running), LATE_AMONG_MAX);
    let running = query_executions(page, &running).await?.executions;
    let mut late = page.app().late_of(running).await?;
    late.truncate(LATE);
    listed(page, late).await
}

/// Finds the schedules whose instants wait, or were missed within the last day.
async fn delayed(
    page: &PageRequest,
    schedules: &[ScheduleView],
) -> Result<Vec<DelayedSchedule>, PageError> {
    let since = page.now.as_micros() - i64::try_from(FAILED_WITHIN.as_micros()).unwrap_or(0);
    let is_recent = |text: &str| text.parse::<Timestamp>().is_ok_and(|at| at.as_micros() >= since);
    let mut found = Vec::new();
    let recent = schedules.iter().filter(|schedule| is_recent(&schedule.updated_at));
    for schedule in recent.take(SCHEDULES_MAX) {
        let of = |kind, until: &str| DelayedSchedule {
            path: schedule.path.clone(),
            kind,
            until: until.to_owned(),
        };
        if let Some(until) = &schedule.queued_until {
            found.push(of(DelayKind::Queued, until));
            continue;
        }
        let events =
            page.app().schedule_events(&schedule.path, None, Some(SCHEDULE_EVENTS)).await?;
        let missed = events
            .events
            .iter()
            .find(|event| is_recent(&event.created_at) && event.context["reason"] == "missed");
        if let Some(until) = missed.and_then(|event| event.context["until"].as_str()) {
            found.push(of(DelayKind::Missed, until));
        }
    }
    Ok(found)
}

/// Counts the dead messages of some subscriptions.
async fn dead_letters(page: &PageRequest) -> Result<Vec<DeadLetters>, PageError> {
    let mut found = Vec::new();
    for subscription in page.app().list_subscriptions().await?.subscriptions {
        if found.len() >= SUBSCRIPTIONS_MAX {
            break;
        }
        let Ok(id) = subscription.subscription_id.parse() else { continue };
        let failed = page.app().intake().failed_messages(id, "", Some(FAILED_SHOWN_MAX)).await?;
        let messages = failed.messages.iter().filter(|it| it.status == "DEAD").count();
        found.push(DeadLetters { subscription, messages });
    }
    found.retain(|it| it.messages > 0);
    Ok(found)
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
