//! Formats instants and durations for people. Programs get RFC 3339 and seconds.

use std::time::Duration;

use jiff::tz::TimeZone;
use noetl_model::Timestamp;

/// Returns the local time of day: `12:00:01`.
pub(crate) fn clock(at: Timestamp) -> String {
    here(at, "%H:%M:%S")
}

/// Returns the local time of day to the millisecond: `12:00:01.250`.
pub(crate) fn clock_millis(at: Timestamp) -> String {
    here(at, "%H:%M:%S%.3f")
}

/// Returns the local date and time: `2026-11-15 12:00:01`.
pub(crate) fn day(at: Timestamp) -> String {
    here(at, "%Y-%m-%d %H:%M:%S")
}

fn here(at: Timestamp, format: &str) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(instant) => instant.to_zoned(TimeZone::system()).strftime(format).to_string(),
        Err(_) => at.to_string(),
    }
}

/// Formats a duration: `0.2 s`, `1 min 5 s`, `2 h 3 min`.
pub(crate) fn took(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats a duration, with milliseconds if it is below one second.
pub(crate) fn took_finely(duration: Duration) -> String {
    match duration.as_micros() {
        micros @ 0..10_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        10_000..1_000_000 => format!("{} ms", duration.as_millis()),
        _ => took(duration),
    }
}

/// Returns seconds rounded to the millisecond, for programs.
pub(crate) fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let check = |millis, expected| assert_eq!(took(Duration::from_millis(millis)), expected);
        check(0, "0.0 s");
        check(240, "0.2 s");
        check(12_999, "12 s");
        check(65_000, "1 min 5 s");
        check(7_380_000, "2 h 3 min");
    }

    #[test]
    fn short_durations_are_shown_finely() {
        let check = |micros, expected| {
            assert_eq!(took_finely(Duration::from_micros(micros)), expected);
        };
        check(0, "0.0 ms");
        check(370, "0.3 ms");
        check(9_990, "9.9 ms");
        check(17_400, "17 ms");
        check(1_240_000, "1.2 s");
    }

    #[test]
    fn seconds_are_rounded_to_the_millisecond() {
        assert_eq!(seconds(Duration::from_micros(1_234_567)).to_string(), "1.235");
    }
}
