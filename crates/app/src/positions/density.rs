//! The density of events over a part of a log, with marks.
//!
//! A part of up to [`READ_MAX`] events is read. Of a longer one, events at equal distances are read
//! for their times; marks then come from the state at its end and from the saved states.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use noetl_api::wire::{LogAxis, LogBucket, LogDensity, LogMark, LogMarkKind};
use noetl_control::{LoadError, STATE_PROJECTION};
use noetl_engine::Execution;
use noetl_model::{ExecutionId, Recorded, Seq, StepName, StepStatus};
use noetl_replay::{DensityAxis, DensityBucket, MarkKind, TimedSeq, density, mark_kind};
use noetl_store::READ_EVENTS_MAX;

use super::PositionError;
use crate::app::App;

/// Maximum number of events of a part that is read as a whole.
pub(super) const READ_MAX: u64 = 20_000;
/// Number of events that are read of a longer part.
const SAMPLES: u64 = 400;
/// Maximum number of samples that are read at once.
const SAMPLES_AT_ONCE: usize = 8;
/// Maximum number of marks.
const MARKS_MAX: usize = 500;
/// Default and maximum number of buckets.
const BUCKETS: u64 = 100;
pub(crate) const BUCKETS_MAX: u64 = 1000;

/// A part of a log: the first and the last event; the whole log if left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogPartQuery {
    pub from: Option<u64>,
    pub to: Option<u64>,
}

impl App {
    /// Counts events and marks of a part of a log in buckets of equal length.
    pub async fn log_density(
        &self,
        execution: ExecutionId,
        part: LogPartQuery,
        axis: LogAxis,
        buckets: Option<u64>,
    ) -> Result<LogDensity, PositionError> {
        let count = buckets.unwrap_or(BUCKETS);
        if !(1..=BUCKETS_MAX).contains(&count) {
            return Err(PositionError::Buckets { max: BUCKETS_MAX });
        }
        let (from, to) = self.part_of(execution, part).await?;
        let is_exact = to - from < READ_MAX;
        let (samples, mut marks) = if is_exact && from == 1 {
            let fold = self.folded_log(execution, to).await?;
            (fold.samples, fold.marks)
        } else if is_exact {
            let events = self.events_between(execution, from, to).await?;
            (events.iter().map(TimedSeq::from).collect(), marks_of(&events))
        } else {
            let state = self.at_position(execution, Some(to)).await?.state;
            (self.samples(execution, from, to).await?, marks_in(&state))
        };
        marks.extend(self.saved_marks(execution).await?);
        marks.retain(|mark| (from..=to).contains(&mark.seq));
        marks.sort_by_key(|mark| mark.seq);
        let axis_of = match axis {
            LogAxis::Seq => DensityAxis::Seq,
            LogAxis::Time => DensityAxis::Time,
        };
        let buckets = density(&samples, axis_of, count);
        let buckets = buckets.iter().map(|bucket| bucket_of(bucket, &marks)).collect();
        let marks_left_out = u64::try_from(marks.len().saturating_sub(MARKS_MAX)).unwrap_or(0);
        marks.truncate(MARKS_MAX);
        let execution_id = execution.into();
        Ok(LogDensity { execution_id, axis, from, to, is_exact, buckets, marks, marks_left_out })
    }

    /// Returns the first and the last event of a part.
    pub(super) async fn part_of(
        &self,
        execution: ExecutionId,
        part: LogPartQuery,
    ) -> Result<(u64, u64), PositionError> {
        let last = self.execution(execution).await?.seq.0;
        let (from, to) = (part.from.unwrap_or(1), part.to.unwrap_or(last));
        match [from, to].into_iter().find(|at| !(1..=last).contains(at)) {
            Some(position) => Err(PositionError::NoSuchPosition { execution, position, last }),
            None if from > to => Err(PositionError::PartReversed { from, to }),
            None => Ok((from, to)),
        }
    }

    /// Reads the events of a part.
    pub(super) async fn events_between(
        &self,
        execution: ExecutionId,
        from: u64,
        to: u64,
    ) -> Result<Vec<Recorded>, LoadError> {
        let mut events: Vec<Recorded> = Vec::new();
        loop {
            let read = events.last().map_or(from - 1, |last| last.seq.0);
            let left = usize::try_from(to - read).unwrap_or(READ_EVENTS_MAX);
            let page = match left {
                0 => Vec::new(),
                left => self.events(execution, Seq(read), left.min(READ_EVENTS_MAX)).await?,
            };
            if page.is_empty() {
                return Ok(events);
            }
            events.extend(page);
        }
    }

    /// Reads events at equal distances, the first and the last one included.
    async fn samples(
        &self,
        execution: ExecutionId,
        from: u64,
        to: u64,
    ) -> Result<Vec<TimedSeq>, LoadError> {
        let seqs = (0..=SAMPLES).map(|index| from + (to - from) * index / SAMPLES);
        let reads = seqs.map(|seq| self.events(execution, Seq(seq - 1), 1));
        let read: Vec<Vec<Recorded>> =
            stream::iter(reads).buffered(SAMPLES_AT_ONCE).try_collect().await?;
        Ok(read.iter().flatten().map(TimedSeq::from).collect())
    }

    async fn saved_marks(&self, execution: ExecutionId) -> Result<Vec<LogMark>, LoadError> {
        let saved = self.store().saved_replays(execution).await;
        let saved = saved.map_err(|error| LoadError::of_store(execution, error))?;
        let saved = saved.into_iter().filter(|mark| mark.projection == STATE_PROJECTION);
        let kind = LogMarkKind::SavedState;
        Ok(saved.map(|mark| LogMark { seq: mark.seq.0, at: None, kind, step: None }).collect())
    }
}

fn bucket_of(bucket: &DensityBucket, marks: &[LogMark]) -> LogBucket {
    let first = marks.partition_point(|mark| mark.seq <= bucket.after.0);
    let last = marks.partition_point(|mark| mark.seq <= bucket.until.0);
    let count = |kind| {
        let marks = marks[first..last.max(first)].iter().filter(|mark| mark.kind == kind);
        u64::try_from(marks.count()).unwrap_or(u64::MAX)
    };
    LogBucket {
        after: bucket.after.0,
        until: bucket.until.0,
        from_at: bucket.from_at,
        to_at: bucket.to_at,
        events: bucket.events(),
        failures: count(LogMarkKind::Failure),
        retries: count(LogMarkKind::Retry),
    }
}

pub(super) fn marks_of(events: &[Recorded]) -> Vec<LogMark> {
    let marks = events.iter().filter_map(|recorded| {
        let kind = match mark_kind(&recorded.event)? {
            MarkKind::Failure => LogMarkKind::Failure,
            MarkKind::Retry => LogMarkKind::Retry,
            MarkKind::Takeover => LogMarkKind::Takeover,
            MarkKind::Fork => LogMarkKind::Fork,
            MarkKind::Cancellation => LogMarkKind::Cancellation,
            MarkKind::Trouble => LogMarkKind::Trouble,
        };
        let step = recorded.event.step().map(StepName::to_string);
        Some(LogMark { seq: recorded.seq.0, at: Some(recorded.at), kind, step })
    });
    marks.collect()
}

/// Returns the marks that a state tells: the latest failure of each step, and the fork.
fn marks_in(state: &Execution) -> Vec<LogMark> {
    let failed = state.steps().filter(|step| step.status == StepStatus::Failed);
    let failures = failed.filter_map(|step| {
        let ended = step.latest.and_then(|latest| latest.ended)?;
        Some(LogMark {
            seq: ended.seq.0,
            at: Some(ended.at),
            kind: LogMarkKind::Failure,
            step: Some(step.name.to_string()),
        })
    });
    let fork = state.summary().fork.map(|fork| LogMark {
        seq: fork.seq.next().0,
        at: None,
        kind: LogMarkKind::Fork,
        step: None,
    });
    failures.chain(fork).collect()
}
