//! Carries out bulk jobs; each is carried out by one server at a time.
//!
//! The rate is bounded: a job acts on [`CHUNK`] executions at most, [`AT_ONCE_MAX`] of them at the
//! same time, then stores their results and pauses.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use noetl_model::ExecutionId;
use noetl_store::{BulkItem, BulkJob, BulkState, PAGE_MAX, StoreError};
use tokio_util::sync::CancellationToken;

use super::TRIES_MAX;
use super::act::ActionEnd;
use crate::app::App;

/// Interval of checks for new jobs without a hint.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which a silent server loses the lock of a job.
const LOCK_LEASE: Duration = Duration::from_secs(15);
/// Number of executions that are acted on before their results are stored.
const CHUNK: usize = 20;
/// Maximum number of executions of a job that are acted on at the same time.
const AT_ONCE_MAX: usize = 8;
/// Pause after each chunk.
const CHUNK_PAUSE: Duration = Duration::from_millis(50);
/// Pause after a failure of the store, or while the workers cannot take more.
const LATER_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of jobs that are carried out at the same time.
const JOBS_AT_ONCE_MAX: usize = 4;
/// Maximum number of chunks of one job before the jobs are listed again.
const CHUNKS_MAX: usize = 50;

/// The state of a job after some chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobRest {
    /// The job has ended, or another server carries it out.
    Nothing,
    More,
}

/// Carries out bulk jobs until `stop`; `holder` identifies this server.
pub async fn run_bulk_jobs(app: App, holder: String, stop: CancellationToken) {
    loop {
        let hints = app.bulk_hints().clone();
        let hint = hints.notified();
        let pause = match run_open(&app, &holder, &stop).await {
            Ok(JobRest::More) => Duration::ZERO,
            Ok(JobRest::Nothing) => POLL_INTERVAL,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "cannot run bulk jobs; will retry");
                LATER_PAUSE
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            () = hint => {}
        }
    }
}

impl App {
    /// Carries out some chunks of every open job that no other process carries out.
    pub async fn advance_bulk_jobs(
        &self,
        holder: &str,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        run_open(self, holder, stop).await.map(drop)
    }
}

/// Carries out some chunks of every open job.
async fn run_open(
    app: &App,
    holder: &str,
    stop: &CancellationToken,
) -> Result<JobRest, StoreError> {
    let jobs = app.records().open_bulk_jobs().await?;
    let run = stream::iter(jobs).map(|job| async move {
        let lock = format!("bulk/{}", job.id);
        if stop.is_cancelled() || !app.records().acquire_lock(&lock, holder, LOCK_LEASE).await? {
            return Ok(JobRest::Nothing);
        }
        let rest = run_chunks(app, holder, (job.id, &lock), stop).await;
        // Another server can go on at once.
        app.records().release_lock(&lock, holder).await?;
        rest
    });
    let rests: Vec<Result<JobRest, StoreError>> =
        run.buffer_unordered(JOBS_AT_ONCE_MAX).collect().await;
    let rests = rests.into_iter().collect::<Result<Vec<_>, _>>()?;
    let more = rests.into_iter().find(|rest| *rest == JobRest::More);
    Ok(more.unwrap_or(JobRest::Nothing))
}

/// Carries out some chunks of a job whose lock `holder` has.
async fn run_chunks(
    app: &App,
    holder: &str,
    (id, lock): (i64, &str),
    stop: &CancellationToken,
) -> Result<JobRest, StoreError> {
    for _ in 0..CHUNKS_MAX {
        if stop.is_cancelled() || !app.records().acquire_lock(lock, holder, LOCK_LEASE).await? {
            return Ok(JobRest::Nothing);
        }
        let job = app.records().bulk_job(id).await?;
        let Some(job) = job.filter(|job| job.state == BulkState::Running) else {
            return Ok(JobRest::Nothing);
        };
        let pause = match job.page.is_empty() {
            true => plan(app, job).await?,
            false => act(app, job).await?,
        };
        tokio::select! {
            () = stop.cancelled() => return Ok(JobRest::Nothing),
            () = tokio::time::sleep(pause) => {}
        }
    }
    Ok(JobRest::More)
}

/// Stores the next executions of a job before it acts on them, or its end.
async fn plan(app: &App, job: BulkJob) -> Result<Duration, StoreError> {
    let seq = job.seq.next();
    if job.is_planned {
        let state = BulkState::Completed;
        let ended = BulkJob { seq, state, ended_at: Some(app.now()), ..job };
        app.records().record_bulk(&ended, &[]).await?;
        return Ok(Duration::ZERO);
    }
    let next = app.next_of_job(&job, PAGE_MAX).await?;
    let (is_planned, cursor) = (next.next.is_none(), next.next.or(job.cursor));
    let planned = BulkJob { seq, page: next.executions, is_planned, cursor, ..job };
    // If another process was first, its page is the one to act on.
    app.records().record_bulk(&planned, &[]).await?;
    Ok(Duration::ZERO)
}

/// Acts on the next executions of a job and stores their results.
async fn act(app: &App, job: BulkJob) -> Result<Duration, StoreError> {
    let chunk: Vec<ExecutionId> = job.page.iter().take(CHUNK).copied().collect();
    let acts = stream::iter(chunk).map(|execution| app.act_in_bulk(&job, execution));
    let ends: Vec<ActionEnd> = acts.buffered(AT_ONCE_MAX).collect().await;
    let mut items = Vec::with_capacity(ends.len());
    let mut pause = CHUNK_PAUSE;
    for end in ends {
        match end {
            ActionEnd::Ended(item) => items.push(item),
            ActionEnd::Later(reason) => {
                tracing::warn!(job = job.id, reason, "a bulk job is delayed; will retry");
                pause = LATER_PAUSE;
                // The page stays in order; an action that is repeated changes nothing.
                break;
            }
        }
    }
    let page = job.page[items.len()..].to_vec();
    let is_over = page.is_empty() && job.is_planned;
    let next = BulkJob {
        seq: job.seq.next(),
        counts: items.iter().fold(job.counts, |counts, item| counts.with(item.outcome)),
        page,
        state: if is_over { BulkState::Completed } else { BulkState::Running },
        ended_at: is_over.then(|| app.now()),
        ..job
    };
    if !app.records().record_bulk(&next, &items).await? {
        note_late(app, next.id, &items).await?;
    }
    Ok(pause)
}

/// Stores the results of a job that was stopped meanwhile. If another server carries the job out, it
/// acts on the same executions and stores their results itself.
async fn note_late(app: &App, id: i64, items: &[BulkItem]) -> Result<(), StoreError> {
    for _ in 0..TRIES_MAX {
        let job = app.records().bulk_job(id).await?;
        let Some(job) = job.filter(|job| job.state == BulkState::Stopped) else { return Ok(()) };
        let counts = items.iter().fold(job.counts, |counts, item| counts.with(item.outcome));
        let noted = BulkJob { seq: job.seq.next(), counts, ..job };
        if app.records().record_bulk(&noted, items).await? {
            return Ok(());
        }
    }
    Ok(())
}
