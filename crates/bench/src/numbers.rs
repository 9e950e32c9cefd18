//! Durations as numbers.

use std::time::Duration;

/// The duration in the middle; zero if there is none.
pub(crate) fn median(durations: &[Duration]) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// How many times `b` is in `a`.
pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts of events and bytes are far below 2^53")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
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
}
