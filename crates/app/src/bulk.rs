//! Bulk jobs: cancel, retry, rerun or delete many executions, selected by a filter or by their ids.
//!
//! A job is stored before it acts. It fixes its set by an upper bound of ids, names its next
//! executions in the store, acts on them and stores their results, page after page. Each action is
//! idempotent (a retry and a rerun start under a key of job and execution), so that another process
//! can take over at any point and no execution is acted on twice.

mod act;
mod run;
mod select;

use noetl_api::wire::{
    BulkItemList, BulkItemView, BulkJobList, BulkJobView, BulkPreview, BulkProgress,
};
use noetl_model::{Actor, Digest, ExecutionId, Seq, canonical};
use noetl_store::{
    BulkAction, BulkCounts, BulkFilter, BulkItem, BulkItemPage, BulkJob, BulkKey, BulkOutcome,
    BulkSelection, BulkState, StoreError,
};

use crate::app::App;
use crate::start::{StartKeyError, checked_key};
pub use run::run_bulk_jobs;
pub(crate) use select::path_matches;

/// Maximum number of executions of one job.
const EXECUTIONS_MAX: u64 = 20_000;
/// Maximum number of executions that are named by their ids.
const IDS_MAX: usize = 1000;
/// Maximum length of a reason, in bytes.
const REASON_MAX: usize = 1000;
/// Default and maximum number of jobs and results per page.
const LIMIT: usize = 100;
const LIMIT_MAX: usize = 500;
/// Maximum number of tries to change a job that another process changes as well.
const TRIES_MAX: usize = 20;

/// The executions that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkChoice {
    Ids(Vec<ExecutionId>),
    Filter(BulkFilter),
}

/// A request to act on many executions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkRequest {
    pub action: BulkAction,
    pub choice: BulkChoice,
    /// The reason of cancellations.
    pub reason: Option<String>,
}

/// The reason why a bulk job is not created, found or changed.
#[derive(Debug, thiserror::Error)]
pub enum BulkError {
    #[error("name 1 to {IDS_MAX} executions, not {0}; select more by a filter")]
    IdCount(usize),
    #[error("more than {EXECUTIONS_MAX} executions match; narrow the filter or the time")]
    TooMany,
    #[error("a reason has at most {REASON_MAX} bytes")]
    ReasonTooLong,
    #[error(transparent)]
    Key(#[from] StartKeyError),
    #[error("this key was used for another request (job {0}); take a new key for a new request")]
    KeyReused(i64),
    #[error("there is no bulk job {0}")]
    Unknown(i64),
    #[error("other processes kept changing bulk job {0}; try again")]
    Contended(i64),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// Counts the executions that a request would act on.
    pub async fn count_bulk(&self, request: &BulkRequest) -> Result<BulkPreview, BulkError> {
        check(request)?;
        let before = ExecutionId(self.next_id());
        let count = self.selected_count(request, before).await?;
        Ok(BulkPreview {
            action: request.action.as_str().to_owned(),
            count: count.min(EXECUTIONS_MAX),
            count_max: EXECUTIONS_MAX,
            is_too_many: count > EXECUTIONS_MAX,
        })
    }

    /// Creates a job. Under an idempotency key, the same request again gets the same job, another is
    /// refused.
    pub async fn create_bulk(
        &self,
        request: &BulkRequest,
        idempotency_key: Option<&str>,
        actor: Option<Actor>,
    ) -> Result<BulkJobView, BulkError> {
        check(request)?;
        let key = match idempotency_key {
            Some(name) => Some(BulkKey { name: checked_key(name)?, request: digest_of(request) }),
            None => None,
        };
        let id = self.next_id();
        let before = ExecutionId(id);
        let expected = self.selected_count(request, before).await?;
        if expected > EXECUTIONS_MAX {
            return Err(BulkError::TooMany);
        }
        let job = BulkJob {
            id,
            seq: Seq::ZERO.next(),
            action: request.action,
            reason: request.reason.clone().filter(|reason| !reason.trim().is_empty()),
            actor,
            selection: selection_of(&request.choice, before),
            key,
            state: BulkState::Running,
            expected,
            counts: BulkCounts::default(),
            page: Vec::new(),
            cursor: None,
            is_planned: false,
            created_at: self.now(),
            ended_at: None,
        };
        let stored = self.records().add_bulk_job(&job).await?;
        let digests = [&stored, &job].map(|job| job.key.as_ref().map(|key| key.request));
        if digests[0] != digests[1] {
            return Err(BulkError::KeyReused(stored.id));
        }
        self.bulk_hints().notify_waiters();
        Ok(view_of(&stored))
    }

    pub async fn bulk_job(&self, id: i64) -> Result<BulkJobView, BulkError> {
        Ok(view_of(&self.stored_bulk(id).await?))
    }

    /// Lists jobs, newest first; `before` is the last one of the previous page.
    pub async fn bulk_jobs(
        &self,
        before: Option<i64>,
        limit: Option<usize>,
    ) -> Result<BulkJobList, BulkError> {
        let limit = limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        let jobs = self.records().bulk_jobs(before, limit).await?;
        let next = jobs.last().filter(|_| jobs.len() == limit).map(|job| job.id.to_string());
        Ok(BulkJobList { jobs: jobs.iter().map(view_of).collect(), next_cursor: next })
    }

    /// Lists the results of a job by descending execution id.
    pub async fn bulk_items(
        &self,
        id: i64,
        before: Option<ExecutionId>,
        outcome: Option<BulkOutcome>,
        limit: Option<usize>,
    ) -> Result<BulkItemList, BulkError> {
        self.stored_bulk(id).await?;
        let limit = limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        let page = BulkItemPage { before, outcome, limit };
        let items = self.records().bulk_items(id, page).await?;
        let next = items.last().filter(|_| items.len() == limit);
        let next_cursor = next.map(|item| item.execution.to_string());
        Ok(BulkItemList { items: items.iter().map(item_view).collect(), next_cursor })
    }

    /// Stops a job; the executions that are left are not touched. A job that has ended stays as it
    /// is.
    pub async fn stop_bulk(&self, id: i64) -> Result<BulkJobView, BulkError> {
        for _ in 0..TRIES_MAX {
            let job = self.stored_bulk(id).await?;
            if job.state != BulkState::Running {
                return Ok(view_of(&job));
            }
            let stopped = BulkJob {
                seq: job.seq.next(),
                state: BulkState::Stopped,
                page: Vec::new(),
                ended_at: Some(self.now()),
                ..job
            };
            if self.records().record_bulk(&stopped, &[]).await? {
                return Ok(view_of(&stopped));
            }
        }
        Err(BulkError::Contended(id))
    }

    async fn stored_bulk(&self, id: i64) -> Result<BulkJob, BulkError> {
        self.records().bulk_job(id).await?.ok_or(BulkError::Unknown(id))
    }
}

fn check(request: &BulkRequest) -> Result<(), BulkError> {
    if request.reason.as_ref().is_some_and(|reason| reason.len() > REASON_MAX) {
        return Err(BulkError::ReasonTooLong);
    }
    match &request.choice {
        BulkChoice::Ids(ids) if ids.is_empty() || ids.len() > IDS_MAX => {
            Err(BulkError::IdCount(ids.len()))
        }
        BulkChoice::Ids(_) | BulkChoice::Filter(_) => Ok(()),
    }
}

/// Returns the digest of a request, which is the same only for the same request.
fn digest_of(request: &BulkRequest) -> Digest {
    let selection = selection_of(&request.choice, ExecutionId(0));
    Digest::of(&canonical(&(request.action, &request.reason, selection)))
}

fn selection_of(choice: &BulkChoice, before: ExecutionId) -> BulkSelection {
    match choice {
        BulkChoice::Ids(ids) => BulkSelection::Ids(descending(ids)),
        BulkChoice::Filter(filter) => BulkSelection::Filter { filter: filter.clone(), before },
    }
}

/// Returns each id once, in descending order.
fn descending(ids: &[ExecutionId]) -> Vec<ExecutionId> {
    let mut ids = ids.to_vec();
    ids.sort_by_key(|id| std::cmp::Reverse(*id));
    ids.dedup();
    ids
}

fn view_of(job: &BulkJob) -> BulkJobView {
    BulkJobView {
        job_id: job.id.to_string(),
        action: job.action.as_str().to_owned(),
        state: job.state.as_str().to_owned(),
        progress: BulkProgress {
            expected: job.expected,
            done: job.counts.done,
            unchanged: job.counts.unchanged,
            failed: job.counts.failed,
        },
        reason: job.reason.clone(),
        created_at: job.created_at.to_string(),
        ended_at: job.ended_at.map(|at| at.to_string()),
    }
}

fn item_view(item: &BulkItem) -> BulkItemView {
    BulkItemView {
        execution_id: item.execution.to_string(),
        outcome: item.outcome.as_str().to_owned(),
        started_execution_id: item.started.map(|id| id.to_string()),
        message: item.message.clone(),
    }
}
