//! Statistics of durations and repeated measurements.

use std::time::Duration;

/// Returns the median duration; zero if there is none.
pub(crate) fn median(durations: &[Duration]) -> Duration {
    percentile(durations, 50)
}

/// Returns the duration that `percent` of the durations do not exceed; zero if there is none.
pub(crate) fn percentile(durations: &[Duration], percent: usize) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or_default()
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Returns `a` divided by `b`.
pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// Converts a count to a float.
#[expect(clippy::cast_precision_loss, reason = "counts of events and bytes are far below 2^53")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

/// Returns a length as a float.
pub(crate) fn len<T>(things: &[T]) -> f64 {
    number(u64::try_from(things.len()).unwrap_or(u64::MAX))
}

pub(crate) fn mebibytes(bytes: u64) -> f64 {
    number(bytes) / (1024.0 * 1024.0)
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    number(bytes) / 1e6
}

/// Repeated measurements of one value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs(Vec<f64>);

impl Runs {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Returns the median, or the mean of the two middle values; NaN if there is none.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
        match (sorted.get(low), sorted.get(high)) {
            (Some(low), Some(high)) => f64::midpoint(*low, *high),
            _ => f64::NAN,
        }
    }

    pub(crate) fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::min)
    }

    pub(crate) fn most(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::max)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<f64> for Runs {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_not_moved_by_one_outlier() {
        let durations = [3, 1, 900, 2, 4].map(Duration::from_micros);
        assert_eq!(median(&durations), Duration::from_micros(3));
        assert_eq!(median(&[]), Duration::ZERO);
    }

    #[test]
    fn a_percentile_is_one_of_the_durations() {
        let durations: Vec<Duration> = (1..=200).map(Duration::from_micros).collect();
        assert_eq!(percentile(&durations, 50), Duration::from_micros(100));
        assert_eq!(percentile(&durations, 99), Duration::from_micros(198));
    }

    #[test]
    fn runs_have_a_middle_and_a_spread() {
        let runs: Runs = [4.0, 1.0, 2.0, 3.0].into_iter().collect();
        assert_eq!((runs.least(), runs.median(), runs.most()), (1.0, 2.5, 4.0));
        assert!(Runs::default().median().is_nan());
    }
}
