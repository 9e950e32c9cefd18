//! Durations as text, as existing clients print them.

use std::time::Duration;

/// Formats a duration with its two or three largest units: `850ms`, `12.4s`, `3m 5s`, `1h 2m 3s`.
pub fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}h {minutes}m {rest}s")
    } else if minutes > 0 {
        format!("{minutes}m {rest}s")
    } else if seconds > 0 {
        format!("{rest}.{}s", duration.subsec_millis() / 100)
    } else {
        format!("{}ms", duration.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_units_are_shown() {
        let cases = [
            (0, "0ms"),
            (850, "850ms"),
            (12_480, "12.4s"),
            (185_000, "3m 5s"),
            (3_723_999, "1h 2m 3s"),
            (360_000_000, "100h 0m 0s"),
        ];
        for (millis, expected) in cases {
            assert_eq!(duration_text(Duration::from_millis(millis)), expected);
        }
    }
}
