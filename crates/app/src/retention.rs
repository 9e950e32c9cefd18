//! Deletion of ended executions: on request, and in the background by the retention settings.
//!
//! An execution is kept while it runs, while a fork of it exists, while a child or its parent runs,
//! while messages of it are to be sent, and while it is marked. The background deletes at most
//! [`DELETIONS_MAX`] executions and looks at at most [`LOOKED_AT_MAX`] per round.

mod rules;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use noetl_control::LoadError;
use noetl_model::{Actor, ExecutionId, Summary, Timestamp, first_id_at};
use noetl_store::{
    EraseAnswer, ExecutionFilter, KeepMark, KeepReason, PAGE_MAX, Page, StoreError, Tombstone,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::app::App;
pub use rules::{BadRetentionRule, RetentionPeriod, RetentionRule, RetentionRules};

/// Interval between rounds, the pause after a round that deleted something and left more, and the
/// pause after one that only looked at executions that are kept.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
const BUSY_PAUSE: Duration = Duration::from_secs(1);
const LOOK_PAUSE: Duration = Duration::from_secs(10);
/// Pause after all executions were looked at: those that are kept are not read all the time.
const PASS_PAUSE: Duration = Duration::from_secs(10 * 60);
/// Maximum number of executions that a round deletes and looks at.
const DELETIONS_MAX: usize = 200;
const LOOKED_AT_MAX: usize = 10_000;
/// Maximum number of rows per batch, and of batches of a kind per round.
const ROWS_MAX: usize = 2000;
const BATCHES_MAX: usize = 50;
/// Pause between batches, in which other writes get their turn.
const BATCH_PAUSE: Duration = Duration::from_millis(20);
/// Maximum number of pages that are returned to the file system at once.
const PAGES_MAX: usize = 500;
/// The lock of the one process that deletes in the background, and its lease.
const LOCK: &str = "retention";
const LOCK_LEASE: Duration = Duration::from_secs(120);
/// Maximum length of the reason of a mark, in bytes.
const REASON_MAX: usize = 1000;

/// The reason why an execution is not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    #[error("execution {execution} is kept: {reason}")]
    Kept { execution: ExecutionId, reason: KeepReason },
    #[error("a reason has at most {REASON_MAX} bytes")]
    ReasonTooLong,
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The progress of the background.
#[derive(Debug, Default)]
pub struct RetentionProgress {
    /// The execution below which the next round looks.
    cursor: Option<ExecutionId>,
    /// The time before which no round looks at executions.
    rests_until: Option<Instant>,
}

/// The last round of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRetention {
    pub at: Timestamp,
    /// The error is for administrators.
    pub result: Result<RetentionRound, String>,
}

/// The last round of this process, if it has done one.
#[derive(Debug, Default)]
pub(crate) struct LastRound(Mutex<Option<LastRetention>>);

/// The result of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionRound {
    pub deleted: u64,
    /// Executions that were looked at.
    pub looked_at: u64,
    /// Deleted rows of executions that were deleted now or earlier.
    pub rows: u64,
    /// True if another round has something to do at once.
    pub is_unfinished: bool,
}

impl RetentionRound {
    /// Returns the pause until the next round.
    fn pause(&self) -> Duration {
        match (self.is_unfinished, self.deleted + self.rows) {
            (true, 1..) => BUSY_PAUSE,
            (true, 0) => LOOK_PAUSE,
            (false, _) => POLL_INTERVAL,
        }
    }
}

/// The result of an attempt to delete an execution.
enum Deletion {
    Done(Tombstone),
    Kept(KeepReason),
    /// The execution is not there any more.
    Gone,
}

impl App {
    /// Deletes an ended execution and returns its tombstone. Its other rows are deleted in the
    /// background.
    pub async fn delete_execution(
        &self,
        execution: ExecutionId,
        actor: Option<Actor>,
    ) -> Result<Tombstone, DeleteError> {
        let summary = self.execution(execution).await?;
        match self.delete_ended(&summary, actor).await? {
            Deletion::Done(tombstone) => Ok(tombstone),
            Deletion::Kept(reason) => Err(DeleteError::Kept { execution, reason }),
            Deletion::Gone => Err(self.missing(execution).await.into()),
        }
    }

    async fn delete_ended(
        &self,
        summary: &Summary,
        actor: Option<Actor>,
    ) -> Result<Deletion, StoreError> {
        let execution = summary.execution;
        if !summary.status.is_terminal() {
            return Ok(Deletion::Kept(KeepReason::Running));
        }
        if let Some(reason) = self.store().keep_reason(execution).await? {
            return Ok(Deletion::Kept(reason));
        }
        let tombstone = Tombstone::of(summary, self.now(), actor);
        match self.store().erase(execution, &tombstone).await? {
            EraseAnswer::Erased => {
                self.control().forget(execution);
                Ok(Deletion::Done(tombstone))
            }
            EraseAnswer::Missing => {
                self.control().forget(execution);
                Ok(Deletion::Gone)
            }
            EraseAnswer::Kept(reason) => Ok(Deletion::Kept(reason)),
        }
    }

    /// Returns the tombstone of an execution that was deleted.
    pub async fn tombstone(&self, execution: ExecutionId) -> Result<Option<Tombstone>, StoreError> {
        self.store().tombstone(execution).await
    }

    /// Marks an execution to be kept, whatever the retention settings say.
    pub async fn keep_execution(
        &self,
        execution: ExecutionId,
        reason: Option<String>,
        actor: Option<Actor>,
    ) -> Result<KeepMark, DeleteError> {
        self.execution(execution).await?;
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        if reason.as_ref().is_some_and(|reason| reason.len() > REASON_MAX) {
            return Err(DeleteError::ReasonTooLong);
        }
        let mark = KeepMark { since: self.now(), reason, actor };
        match self.store().put_keep_mark(execution, &mark).await? {
            true => Ok(mark),
            false => Err(self.missing(execution).await.into()),
        }
    }

    /// Removes the mark of an execution. Returns false if it had none.
    pub async fn end_keeping(&self, execution: ExecutionId) -> Result<bool, DeleteError> {
        self.execution(execution).await?;
        Ok(self.store().remove_keep_mark(execution).await?)
    }

    /// Deletes expired executions, and the rows of deleted ones, until `stop`. `holder` identifies
    /// this process: one of several does it.
    pub async fn run_retention(&self, holder: String, stop: CancellationToken) {
        let mut progress = RetentionProgress::default();
        let mut pause = POLL_INTERVAL;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = match self.locked_round(&mut progress, &holder).await {
                Ok(round) => {
                    if round.deleted > 0 {
                        tracing::info!(executions = round.deleted, "expired executions deleted");
                    }
                    round.pause()
                }
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, "cannot delete expired executions; will retry");
                    POLL_INTERVAL
                }
            };
        }
    }

    /// Returns the rules of the retention settings.
    pub fn retention_rules(&self) -> &RetentionRules {
        &self.settings().retention
    }

    /// Returns the last round of this process; `None` if it has not done any, as when another process
    /// deletes in the background.
    pub fn last_retention(&self) -> Option<LastRetention> {
        let last = &self.last_round().0;
        last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the mark that keeps an execution, if it has one.
    pub async fn keep_mark(&self, execution: ExecutionId) -> Result<Option<KeepMark>, StoreError> {
        self.store().keep_mark(execution).await
    }

    async fn locked_round(
        &self,
        progress: &mut RetentionProgress,
        holder: &str,
    ) -> Result<RetentionRound, StoreError> {
        match self.records().acquire_lock(LOCK, holder, LOCK_LEASE).await? {
            true => {
                let round = self.retention_round(progress).await;
                let result = round.as_ref().map(|round| *round).map_err(ToString::to_string);
                let last = LastRetention { at: self.now(), result };
                let known = &self.last_round().0;
                *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
                round
            }
            false => Ok(RetentionRound::default()),
        }
    }

    /// Deletes some expired executions, then some rows of deleted ones.
    pub async fn retention_round(
        &self,
        progress: &mut RetentionProgress,
    ) -> Result<RetentionRound, StoreError> {
        let rules = &self.settings().retention;
        let mut round = RetentionRound::default();
        if let Some(shortest) = rules.shortest() {
            let now = self.now();
            if progress.rests_until.is_none_or(|until| until <= Instant::now()) {
                let before = before_of(now, shortest);
                let expiry = Expiry::Rules { rules, now };
                round = self.delete_expired(&mut progress.cursor, before, expiry).await?;
                let is_passed = !round.is_unfinished;
                progress.rests_until = is_passed.then(|| Instant::now() + PASS_PAUSE);
            }
            let months = self.records().expire(start_of(now, shortest)).await?;
            if !months.is_empty() {
                tracing::info!(?months, "empty months dropped");
            }
        }
        let swept = self.sweep_deleted().await?;
        round.rows = swept.rows;
        round.is_unfinished |= swept.is_unfinished;
        Ok(round)
    }

    /// Deletes every execution that ended at `before` or earlier and is not kept for another reason,
    /// then months that are empty. Returns the dropped months.
    pub(crate) async fn delete_before(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        let limit = ExecutionId(first_id_at(before));
        let (mut cursor, expiry) = (None, Expiry::EndedBefore(before));
        while self.delete_expired(&mut cursor, limit, expiry).await?.is_unfinished {
            while self.sweep(ErasedPart::Payloads).await?.is_unfinished {}
        }
        while self.sweep(ErasedPart::Payloads).await?.is_unfinished {}
        let months = self.records().expire(before).await?;
        while self.sweep_deleted().await?.is_unfinished {}
        Ok(months)
    }

    /// Deletes rows of deleted executions and expired records, for about `time_max`: a command on an
    /// embedded database has no background. Returns false if some are left.
    pub async fn finish_deletions(&self, time_max: Duration) -> Result<bool, StoreError> {
        let deadline = Instant::now() + time_max;
        while self.sweep_deleted().await?.is_unfinished {
            if Instant::now() >= deadline {
                return Ok(false);
            }
        }
        self.collect_records().await?;
        self.sweep(ErasedPart::Space).await?;
        Ok(true)
    }

    /// Looks at executions below `before`, from the cursor on, and deletes those that are expired.
    async fn delete_expired(
        &self,
        cursor: &mut Option<ExecutionId>,
        before: ExecutionId,
        expiry: Expiry<'_>,
    ) -> Result<RetentionRound, StoreError> {
        let mut round = RetentionRound { is_unfinished: true, ..RetentionRound::default() };
        for _page in 0..LOOKED_AT_MAX / PAGE_MAX {
            let below = cursor.map_or(before, |cursor| cursor.min(before));
            let page = Page { before: Some(below), limit: PAGE_MAX };
            let found = self.store().list(&ExecutionFilter::default(), page).await?;
            for summary in &found {
                round.looked_at += 1;
                if expiry.includes(summary) {
                    match self.delete_ended(summary, None).await? {
                        Deletion::Done(_) => round.deleted += 1,
                        Deletion::Kept(_) | Deletion::Gone => {}
                    }
                }
                *cursor = Some(summary.execution);
                if round.deleted >= DELETIONS_MAX as u64 {
                    return Ok(round);
                }
            }
            if found.len() < PAGE_MAX {
                *cursor = None;
                round.is_unfinished = false;
                return Ok(round);
            }
        }
        Ok(round)
    }

    /// Deletes rows of deleted executions, and returns their space.
    async fn sweep_deleted(&self) -> Result<RetentionRound, StoreError> {
        let mut all = RetentionRound::default();
        for part in [ErasedPart::Payloads, ErasedPart::Rows, ErasedPart::Space] {
            let swept = self.sweep(part).await?;
            all.rows += swept.rows;
            all.is_unfinished |= swept.is_unfinished;
        }
        Ok(all)
    }

    /// Deletes one part of deleted executions in batches, at most [`BATCHES_MAX`].
    async fn sweep(&self, part: ErasedPart) -> Result<RetentionRound, StoreError> {
        let mut round = RetentionRound { is_unfinished: true, ..RetentionRound::default() };
        for _ in 0..BATCHES_MAX {
            let rows = match part {
                ErasedPart::Payloads => self.store().erase_payloads(PAGE_MAX).await?,
                ErasedPart::Rows => self.store().erase_rows(ROWS_MAX).await?,
                ErasedPart::Space => self.store().return_space(PAGES_MAX).await?,
            };
            if rows == 0 {
                round.is_unfinished = false;
                break;
            }
            round.rows += rows;
            tokio::time::sleep(BATCH_PAUSE).await;
        }
        Ok(round)
    }
}

/// A part of deleted executions that is removed in batches.
#[derive(Debug, Clone, Copy)]
enum ErasedPart {
    Payloads,
    Rows,
    /// The space that the rows took.
    Space,
}

/// The executions that are deleted.
#[derive(Debug, Clone, Copy)]
enum Expiry<'a> {
    Rules { rules: &'a RetentionRules, now: Timestamp },
    EndedBefore(Timestamp),
}

impl Expiry<'_> {
    fn includes(self, summary: &Summary) -> bool {
        match self {
            Self::Rules { rules, now } => rules.is_expired(summary, now),
            Self::EndedBefore(before) => summary.ended_at.is_some_and(|end| end <= before),
        }
    }
}

fn start_of(now: Timestamp, age: Duration) -> Timestamp {
    let epoch = Timestamp::from_micros(0);
    epoch.after(now.since(epoch).saturating_sub(age))
}

/// Returns the id below which executions started longer than `age` ago.
fn before_of(now: Timestamp, age: Duration) -> ExecutionId {
    ExecutionId(first_id_at(start_of(now, age)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_only_looked_is_followed_by_a_longer_pause_than_one_that_deleted() {
        let check = |deleted, rows, is_unfinished| {
            RetentionRound { deleted, rows, looked_at: 10, is_unfinished }.pause()
        };
        assert_eq!(check(1, 0, true), BUSY_PAUSE);
        assert_eq!(check(0, 1, true), BUSY_PAUSE);
        assert_eq!(check(0, 0, true), LOOK_PAUSE);
        assert_eq!(check(5, 5, false), POLL_INTERVAL);
    }
}
