//! The ticks of a time axis: round times, at most as many as fit.

use std::time::Duration;

use noetl_app::ROUND_TIMES;
use noetl_model::Timestamp;

const MILLI: i64 = 1000;
const DAY: i64 = 24 * 60 * 60 * 1000 * MILLI;

/// Distances between ticks of a very long time, in microseconds.
const LONG_DISTANCES: [i64; 2] = [30 * DAY, 365 * DAY];

/// The times that ticks are at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TickPlaces {
    /// Round distances from the beginning.
    FromStart,
    /// Round times of the clock.
    Clock,
}

/// Returns the ticks between two instants, at most `max` of them, with their distance.
pub(super) fn ticks(
    from: Timestamp,
    until: Timestamp,
    max: usize,
    places: TickPlaces,
) -> (Vec<Timestamp>, Duration) {
    let (start, end) = (from.as_micros(), until.as_micros().max(from.as_micros()));
    let most = i64::try_from(max.max(1)).unwrap_or(1);
    let fits = |distance: &i64| (end - start) / *distance < most;
    let mut distances = ROUND_TIMES.map(|it| it * MILLI).into_iter().chain(LONG_DISTANCES);
    let distance = distances.find(fits).unwrap_or(i64::MAX / 4);
    let first = match places {
        TickPlaces::FromStart => start,
        TickPlaces::Clock => start + (distance - start.rem_euclid(distance)) % distance,
    };
    let all = (0..most).map(|index| first.saturating_add(index.saturating_mul(distance)));
    let ticks = all.take_while(|at| *at <= end).map(Timestamp::from_micros).collect();
    (ticks, Duration::from_micros(distance.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1000 * MILLI;
    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;

    #[track_caller]
    fn check(from: i64, until: i64, max: usize, places: TickPlaces, expected: &[i64]) {
        let (found, _) =
            ticks(Timestamp::from_micros(from), Timestamp::from_micros(until), max, places);
        let found: Vec<i64> = found.iter().map(|at| at.as_micros()).collect();
        assert_eq!(found, expected, "{from}..{until}");
    }

    #[test]
    fn ticks_are_round_and_not_more_than_fit() {
        use TickPlaces::{Clock, FromStart};
        check(0, 10 * SECOND, 6, FromStart, &[0, 2, 4, 6, 8, 10].map(|it| it * SECOND));
        check(7, 7 + 3 * MILLI, 4, FromStart, &[7, 7 + MILLI, 7 + 2 * MILLI, 7 + 3 * MILLI]);
        check(1300 * MILLI, 4500 * MILLI, 4, Clock, &[2, 3, 4].map(|it| it * SECOND));
        check(59 * MINUTE, 181 * MINUTE, 3, Clock, &[HOUR, 2 * HOUR, 3 * HOUR]);
        check(5, 5, 6, FromStart, &[5]);
        check(0, i64::MAX / 2, 3, FromStart, &[0, i64::MAX / 4, i64::MAX / 4 * 2]);
    }
}
