//! The output of running tools: stored as workers send it, read by step and attempt.

mod lines;
mod read;
mod tail;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use noetl_model::{ExecutionId, LogAnswer, LogBatch};
use noetl_store::{LogLimits, StoreError};
use tokio::sync::watch;

use crate::app::App;

pub use lines::{LogLine, LogLines, log_name, omitted_note};
pub use read::{
    FollowedLogs, LOG_ENTRIES_MAX, LogFilter, LogPosition, NotALogPosition, StepLogReader,
};
pub use tail::{LogTail, LogTailQuery};

/// The longest time until a reader notices output that another server has stored.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The pause between two reads of a follower, for each follower of the same execution, and its
/// maximum: all of them together read at most 200 times a second.
const PAUSE_PER_FOLLOWER: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The default of [`LogSettings::kept`].
const KEPT_DEFAULT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The limits and the retention of the output of tools.
#[derive(Debug, Clone, Copy)]
pub struct LogSettings {
    pub limits: LogLimits,
    /// The time for which the output of an execution is kept after it last printed; `None` for ever.
    pub kept: Option<Duration>,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { limits: LogLimits::default(), kept: Some(KEPT_DEFAULT) }
    }
}

/// The output stored by this process since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogCounts {
    pub chunks: u64,
    pub bytes: u64,
    /// Chunks that were not stored because of a limit.
    pub over_limit: u64,
    /// Calls that failed.
    pub failed: u64,
}

/// The counters, and the readers that wait for new output.
#[derive(Debug, Default)]
pub(crate) struct StepLogState {
    chunks: AtomicU64,
    bytes: AtomicU64,
    over_limit: AtomicU64,
    failed: AtomicU64,
    is_failing: AtomicBool,
    watched: Mutex<BTreeMap<ExecutionId, watch::Sender<()>>>,
}

impl StepLogState {
    fn watched(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, watch::Sender<()>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, execution: ExecutionId) -> watch::Receiver<()> {
        let mut watched = self.watched();
        watched.entry(execution).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// Removes the sender of an execution if its last receiver is about to be dropped.
    fn unwatch(&self, execution: ExecutionId) {
        let mut watched = self.watched();
        if watched.get(&execution).is_some_and(|sender| sender.receiver_count() <= 1) {
            watched.remove(&execution);
        }
    }

    /// Returns the pause between two reads of a follower of an execution.
    fn pause(&self, execution: ExecutionId) -> Duration {
        let followers = self.watched().get(&execution).map_or(0, watch::Sender::receiver_count);
        let followers = u32::try_from(followers).unwrap_or(u32::MAX);
        PAUSE_PER_FOLLOWER.saturating_mul(followers).min(PAUSE_MAX)
    }

    fn count(&self, batches: &[LogBatch], answers: &[LogAnswer]) {
        for (batch, answer) in batches.iter().zip(answers) {
            let kept = match answer {
                LogAnswer::Stored => batch.chunks.len(),
                LogAnswer::Full { kept } => *kept,
                LogAnswer::Unknown => 0,
            };
            let bytes: usize = batch.chunks.iter().take(kept).map(|chunk| chunk.text.len()).sum();
            let add = |counter: &AtomicU64, count: usize| {
                counter.fetch_add(count as u64, Ordering::Relaxed);
            };
            add(&self.chunks, kept);
            add(&self.bytes, bytes);
            add(&self.over_limit, batch.chunks.len() - kept);
            if kept > 0
                && let Some(sender) = self.watched().get(&batch.source.execution)
            {
                sender.send_replace(());
            }
        }
    }
}

impl App {
    /// Waits until this process has stored output of an execution.
    pub async fn log_stored(&self, execution: ExecutionId) {
        let state = self.step_log_state();
        let mut stored = state.watch(execution);
        let _unwatched = Unwatched { state, execution };
        if stored.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Stores output of running tools; returns one answer per batch, in order. Chunks that are stored
    /// already are skipped.
    pub async fn store_logs(&self, batches: &[LogBatch]) -> Result<Vec<LogAnswer>, StoreError> {
        let (state, limits) = (self.step_log_state(), self.settings().logs.limits);
        match self.records().append_logs(batches, limits).await {
            Ok(answers) => {
                state.is_failing.store(false, Ordering::Relaxed);
                state.count(batches, &answers);
                Ok(answers)
            }
            Err(error) => {
                state.failed.fetch_add(1, Ordering::Relaxed);
                if !state.is_failing.swap(true, Ordering::Relaxed) {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(
                        error,
                        "cannot store the output of running steps; the steps continue"
                    );
                }
                Err(error)
            }
        }
    }

    /// Returns the output stored by this process since it started.
    pub fn log_counts(&self) -> LogCounts {
        let state = self.step_log_state();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LogCounts {
            chunks: count(&state.chunks),
            bytes: count(&state.bytes),
            over_limit: count(&state.over_limit),
            failed: count(&state.failed),
        }
    }
}

/// Removes the sender of an execution once nobody waits for it.
struct Unwatched<'a> {
    state: &'a StepLogState,
    execution: ExecutionId,
}

impl Drop for Unwatched<'_> {
    fn drop(&mut self) {
        self.state.unwatch(self.execution);
    }
}
