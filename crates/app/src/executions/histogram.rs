//! The numbers of executions by time and status, for a filter of the list.

use noetl_api::wire::{ExecutionHistogram, HistogramBucket};
use noetl_model::{ExecutionStatus, Timestamp};
use noetl_store::{ExecutionFilter, HistogramBar, HistogramSpan, StoreError};

use crate::app::App;
use crate::round_times::ROUND_TIMES;

const SECOND: i64 = 1000;
const DAY: i64 = 24 * 60 * 60 * SECOND;
const WEEK: i64 = 7 * DAY;

/// Default number of buckets.
const BUCKETS: u32 = 48;
/// Maximum number of buckets.
const BUCKETS_MAX: u32 = 200;
/// Default length of the time that is counted.
const WINDOW: i64 = DAY;

/// Selects the executions that a histogram counts.
#[derive(Debug, Clone, Default)]
pub struct HistogramQuery {
    pub filter: ExecutionFilter,
    /// The earliest start; a day before the end if left out.
    pub started_after: Option<Timestamp>,
    /// The latest start, exclusive; the time of the request if left out.
    pub started_before: Option<Timestamp>,
    /// The largest number of buckets.
    pub buckets: Option<u32>,
}

/// The reason why executions are not counted.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    #[error("`buckets` is 1 to {BUCKETS_MAX}")]
    Buckets,
    #[error("`started_after` is not before `started_before`")]
    EmptyTime,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// Counts the executions that the engine runs by the time in their ids and by status. Reads at
    /// most `HISTOGRAM_ROWS_MAX` index entries per shard.
    pub async fn execution_histogram(
        &self,
        query: &HistogramQuery,
    ) -> Result<ExecutionHistogram, HistogramError> {
        let most = query.buckets.unwrap_or(BUCKETS);
        if !(1..=BUCKETS_MAX).contains(&most) {
            return Err(HistogramError::Buckets);
        }
        let given = (query.started_after, query.started_before);
        let (from, until, step) = divided(given, self.now(), i64::from(most));
        if from >= until {
            return Err(HistogramError::EmptyTime);
        }
        let span = HistogramSpan::new(from, until, step);
        let count_max = span.count_max(query.filter.statuses().len());
        let bars = self.store().histogram(&query.filter, &span, count_max).await?;
        Ok(ExecutionHistogram {
            from,
            until,
            step_seconds: (step / SECOND).unsigned_abs(),
            count_max,
            truncated: bars.iter().any(|bar| bar.count >= count_max),
            buckets: buckets_of(&span, &bars),
        })
    }
}

/// Returns the beginning and the end of the counted time, and the length of a bucket. An end that is
/// not given is a multiple of that length: the bucket of the present is counted to its end.
fn divided(
    (after, before): (Option<Timestamp>, Option<Timestamp>),
    now: Timestamp,
    most: i64,
) -> (Timestamp, Timestamp, i64) {
    let end = before.unwrap_or(now).as_millis();
    let step = match after.map(Timestamp::as_millis) {
        Some(from) => step_that(|step| {
            let origin = from.div_euclid(step) * step;
            // The end is exclusive, so the present needs one millisecond more.
            end.saturating_sub(origin) < step.saturating_mul(most) + i64::from(before.is_some())
        }),
        None => step_that(|step| WINDOW <= step * most),
    };
    let next = |at: i64| Timestamp::from_millis(at.div_euclid(step) * step + step);
    let until = before.unwrap_or_else(|| next(end));
    let from = after.unwrap_or_else(|| match before {
        Some(_) => next(end - WINDOW),
        None => Timestamp::from_millis(until.as_millis() - WINDOW),
    });
    (from, until, step)
}

/// Returns the shortest step that fits; one longer than a week is a multiple of it.
fn step_that(fits: impl Fn(i64) -> bool) -> i64 {
    let short = ROUND_TIMES.into_iter().filter(|step| *step >= SECOND);
    let long = (2..).map(|weeks: i64| weeks.saturating_mul(WEEK));
    short.chain(long).find(|step| fits(*step)).unwrap_or(WEEK)
}

fn buckets_of(span: &HistogramSpan, bars: &[HistogramBar]) -> Vec<HistogramBucket> {
    let mut buckets: Vec<HistogramBucket> = (0..span.buckets)
        .map(|bucket| HistogramBucket {
            from: span.begin(bucket),
            until: span.begin(bucket + 1),
            running: 0,
            completed: 0,
            failed: 0,
            cancelled: 0,
        })
        .collect();
    for bar in bars {
        let index = usize::try_from(bar.bucket).unwrap_or(usize::MAX);
        let Some(bucket) = buckets.get_mut(index) else { continue };
        let count = match bar.status {
            ExecutionStatus::Running => &mut bucket.running,
            ExecutionStatus::Completed => &mut bucket.completed,
            ExecutionStatus::Failed => &mut bucket.failed,
            ExecutionStatus::Cancelled => &mut bucket.cancelled,
        };
        *count = bar.count;
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn check(given: (Option<&str>, Option<&str>), most: i64, expected: (&str, &str, i64)) {
        let times = (given.0.map(at), given.1.map(at));
        let divided = divided(times, at("2026-11-17T10:10:00Z"), most);
        assert_eq!(divided, (at(expected.0), at(expected.1), expected.2), "{given:?} {most}");
    }

    #[test]
    fn the_last_day_has_half_hours_that_begin_at_the_half_hour() {
        let (from, until) = ("2026-11-16T10:30:00Z", "2026-11-17T10:30:00Z");
        check((None, None), 48, (from, until, 30 * MINUTE));
        check((None, Some(until)), 48, ("2026-11-16T11:00:00Z", until, 30 * MINUTE));
        let (from, until) = ("2026-11-16T11:00:00Z", "2026-11-17T11:00:00Z");
        check((None, None), 24, (from, until, HOUR));
    }

    #[test]
    fn a_given_time_is_divided_into_no_more_buckets_than_asked_for() {
        let from = "2026-11-16T10:00:00Z";
        let until = |until, step| check((Some(from), Some(until)), 48, (from, until, step));
        until("2026-11-17T10:00:00Z", 30 * MINUTE);
        until("2026-11-17T10:00:01Z", HOUR);
        until("2026-11-16T10:00:01Z", SECOND);
        until("2036-11-16T10:00:00Z", 12 * WEEK);
        check((Some(from), None), 48, (from, "2026-11-17T11:00:00Z", HOUR));
        let hour = "2026-11-17T09:30:00Z";
        check((Some(hour), None), 48, (hour, "2026-11-17T10:11:00Z", MINUTE));
    }
}
