//! Counts of executions by time and status.
//!
//! Ids contain the time of their creation, so a bar is a range of the index on status and id. A bar
//! counts at most `count_max` entries of the index: the cost depends on the number of bars, not on
//! the number of executions.

use std::collections::BTreeMap;

use noetl_model::{ExecutionId, ExecutionStatus, Timestamp, first_id_at, instant_of_id};

/// The largest number of index entries that one histogram reads.
pub const HISTOGRAM_ROWS_MAX: u64 = 500_000;

/// The buckets of a histogram: ranges of ids of equal width, cut at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramSpan {
    /// The first id that is counted.
    pub from: i64,
    /// The first id after those that are counted.
    pub until: i64,
    /// The first id of the first bucket, at most `from`.
    pub origin: i64,
    /// The number of ids per bucket; not zero.
    pub width: i64,
    pub buckets: u32,
}

impl HistogramSpan {
    /// Divides a time into buckets of `step` milliseconds, aligned to multiples of it.
    pub fn new(from: Timestamp, until: Timestamp, step: i64) -> Self {
        let step = step.max(1);
        let origin = Timestamp::from_millis(from.as_millis().div_euclid(step) * step);
        let length = (until.as_millis() - origin.as_millis()).max(1);
        let second = Timestamp::from_millis(origin.as_millis() + step);
        Self {
            from: first_id_at(from),
            until: first_id_at(until),
            origin: first_id_at(origin),
            width: (first_id_at(second) - first_id_at(origin)).max(1),
            buckets: u32::try_from((length + step - 1) / step).unwrap_or(u32::MAX),
        }
    }

    /// Returns the time at which a bucket begins; the one after the last is the end.
    pub fn begin(&self, bucket: u32) -> Timestamp {
        let first = self.origin + i64::from(bucket) * self.width;
        instant_of_id(first.clamp(self.from, self.until))
    }

    /// Returns the bucket of an execution that is counted.
    pub fn bucket(&self, execution: ExecutionId) -> Option<u32> {
        let is_counted = (self.from..self.until).contains(&execution.0);
        is_counted.then(|| u32::try_from((execution.0 - self.origin) / self.width).ok())?
    }

    /// Returns the largest count of a bar, by which the histogram reads at most
    /// [`HISTOGRAM_ROWS_MAX`] entries.
    pub fn count_max(&self, statuses: usize) -> u64 {
        let bars = u64::from(self.buckets.max(1)) * statuses.max(1) as u64;
        (HISTOGRAM_ROWS_MAX / bars).max(1)
    }
}

/// The number of executions with a status in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramBar {
    pub bucket: u32,
    pub status: ExecutionStatus,
    /// At most the largest count that was asked for.
    pub count: u64,
}

/// Adds up the bars of several parts, each at most `count_max`, ordered by bucket and status, without
/// bars of zero.
pub fn merged_bars(parts: Vec<Vec<HistogramBar>>, count_max: u64) -> Vec<HistogramBar> {
    let mut counts = BTreeMap::new();
    for bar in parts.into_iter().flatten().filter(|bar| bar.count > 0) {
        *counts.entry((bar.bucket, bar.status)).or_insert(0) += bar.count;
    }
    let bar = |((bucket, status), count): ((u32, ExecutionStatus), u64)| HistogramBar {
        bucket,
        status,
        count: count.min(count_max),
    };
    counts.into_iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn at(hours: i64, minutes: i64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + hours * HOUR + minutes * 60_000)
    }

    #[test]
    fn buckets_are_aligned_and_cut_at_both_ends() {
        let span = HistogramSpan::new(at(0, 20), at(2, 10), HOUR);
        assert_eq!(span.buckets, 3);
        let begins: Vec<Timestamp> = (0..=3).map(|bucket| span.begin(bucket)).collect();
        assert_eq!(begins, [at(0, 20), at(1, 0), at(2, 0), at(2, 10)]);
        let bucket = |time| span.bucket(ExecutionId(first_id_at(time)));
        assert_eq!(bucket(at(0, 19)), None);
        assert_eq!(bucket(at(0, 20)), Some(0));
        assert_eq!(bucket(at(1, 59)), Some(1));
        assert_eq!(bucket(at(2, 0)), Some(2));
        assert_eq!(bucket(at(2, 10)), None);
    }

    #[test]
    fn the_rows_of_all_bars_are_bounded() {
        let span = HistogramSpan::new(at(0, 0), at(24, 0), HOUR / 2);
        assert_eq!(span.buckets, 48);
        assert!(span.count_max(4) * 48 * 4 <= HISTOGRAM_ROWS_MAX);
        assert!(span.count_max(1) > span.count_max(4));
    }

    #[test]
    fn bars_of_several_parts_add_up_to_the_largest_count() {
        let bar = |bucket, count| HistogramBar { bucket, status: ExecutionStatus::Failed, count };
        let parts = vec![vec![bar(0, 3), bar(1, 0), bar(2, 5)], vec![bar(2, 6)]];
        assert_eq!(merged_bars(parts, 10), [bar(0, 3), bar(2, 10)]);
    }
}
