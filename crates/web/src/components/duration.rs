//! A duration, with two units at most.

use std::time::Duration;

use maud::{Markup, html};

/// Draws a duration; the title is exact.
pub(crate) fn duration(duration: Duration) -> Markup {
    html! { span.duration title=(format!("{} s", duration.as_secs_f64())) { (short(duration)) } }
}

/// Returns a duration as a short text, such as `1 min 20 s`.
pub(crate) fn short(duration: Duration) -> String {
    let millis = duration.as_millis();
    let seconds = duration.as_secs();
    let two = |large: u64, one: &str, small: u64, other: &str| match small {
        0 => format!("{large} {one}"),
        small => format!("{large} {one} {small} {other}"),
    };
    match seconds {
        0 => format!("{millis} ms"),
        1..10 => format!("{}.{} s", seconds, millis / 100 % 10),
        10..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..86_400 => two(seconds / 3600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3600 % 24, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_two_units_at_most() {
        for (millis, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1450, "1.4 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (80_000, "1 min 20 s"),
            (3_600_000, "1 h"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(short(Duration::from_millis(millis)), expected);
        }
    }
}
